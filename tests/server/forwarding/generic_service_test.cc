// A generic service: held and sent on like others, without knowing a method.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "tests/server/forwarding/forwarding_fixture.h"

namespace shardmanager {
namespace {

using grpc::ByteBuffer;
using Bidi = grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>;

ByteBuffer ToBytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string ToText(const ByteBuffer& bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// Answers each message with who answers, under which epoch, to which method, and the message.
class Answering final : public Bidi {
 public:
  Answering(Admission admission, std::string head)
      : admission_(std::move(admission)),
        head_(std::move(head) + "@" + std::to_string(admission_.epoch().value()) + " ") {
    StartRead(&message_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    answer_ = ToBytes(head_ + ToText(message_));
    StartWrite(&answer_);
  }
  void OnWriteDone(bool) override { StartRead(&message_); }
  void OnDone() override { delete this; }

  const Admission admission_;
  const std::string head_;
  ByteBuffer message_;
  ByteBuffer answer_;
};

class GenericServer final : public ShardHandler, public grpc::CallbackGenericService {
 public:
  GenericServer(ServerOptions options, std::string name)
      : name_(std::move(name)), server_(WithMe(std::move(options))) {
    EXPECT_TRUE(server_.Start(*this, {}).ok());
    commander_ = std::make_unique<Commander>(server_.endpoint(), name_, 1);
    EXPECT_TRUE(commander_->Add("first", 1).ok());
    EXPECT_TRUE(Eventually([this] { return server_.Admit(ShardId("first")).ok(); }));
  }
  ~GenericServer() override { server_.Shutdown(); }

  Commander& commander() { return *commander_; }
  Server& server() { return server_; }
  const std::string& name() const { return name_; }

 private:
  absl::Status AddShard(const ShardGrant&, const LoadProgress&) override {
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { return absl::OkStatus(); }
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return server_.Admit(*context, [=, this](Admission admission) {
      return new Answering(std::move(admission), name_ + context->method());
    });
  }
  ServerOptions WithMe(ServerOptions options) {
    options.builder = [this](grpc::ServerBuilder& builder) {
      builder.RegisterCallbackGenericService(this);
    };
    return options;
  }

  const std::string name_;
  Server server_;
  std::unique_ptr<Commander> commander_;
};

class GenericServiceTest : public ::testing::Test {
 protected:
  ServerOptions Options(const std::string& name) {
    if (!std::exchange(applied_, true)) world_.ApplyApp();
    return world_.Options(name);
  }

  struct Answer {
    grpc::Status status;
    std::string text;
  };
  static Answer Ask(GenericServer& at, const std::string& message) {
    grpc::GenericStub stub(
        grpc::CreateChannel(at.server().endpoint(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.AddMetadata(request_metadata::kShard, "s");
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const ByteBuffer request = ToBytes(message);
    ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/any.Service/Method", {}, &request, &response,
                   [&](const grpc::Status& status) { done.set_value(status); });
    const grpc::Status status = done.get_future().get();
    return {status, status.ok() ? ToText(response) : status.error_message()};
  }

  ServerWorld world_;
  bool applied_ = false;
  GenericServer old_{Options("kv-1"), "kv-1"};
  GenericServer new_{Options("kv-2"), "kv-2"};
};

TEST_F(GenericServiceTest, CallOfAnyMethodIsAdmittedThenSentOnThenRefused) {
  EXPECT_EQ(Ask(old_, "x").status.error_code(), grpc::StatusCode::UNAVAILABLE);
  ASSERT_TRUE(old_.commander().Add("s", kOldEpoch).ok());
  EXPECT_EQ(Ask(old_, "x").text, "kv-1/any.Service/Method@5 x");

  ASSERT_TRUE(new_.commander().PrepareAdd("s", kNewEpoch, "kv-1").ok());
  ASSERT_TRUE(old_.commander()
                  .PrepareDrop("s", kOldEpoch, {"kv-2", new_.server().endpoint(), kNewEpoch})
                  .ok());
  EXPECT_EQ(Ask(old_, "y").text, "kv-2/any.Service/Method@6 y");

  ASSERT_TRUE(new_.commander().Add("s", kNewEpoch).ok());
  EXPECT_EQ(Ask(new_, "z").text, "kv-2/any.Service/Method@6 z");
  ASSERT_TRUE(old_.commander().Drop("s", kOldEpoch).ok());
}

}  // namespace
}  // namespace shardmanager
