// A request is one that an old owner sent on only if the old owner sent it: whoever else says so in
// the request's metadata is a client, and is refused like all clients.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/request_metadata.h"
#include "tests/security/cell_certs.h"
#include "tests/server/forwarding/forwarding_fixture.h"
#include "wire/transport.h"

namespace shardmanager {
namespace {

namespace meta = request_metadata;
using shardmanager::testing::CellCerts;

class ForgedForwarderTest : public ::testing::TestWithParam<Form> {
 protected:
  static void SetUpTestSuite() {
    world_ = std::make_unique<ServerWorld>();
    world_->ApplyApp();
  }
  static void TearDownTestSuite() { world_.reset(); }

  ForgedForwarderTest() {
    // It is about to own the shard, and waits for the old owner to let go.
    const auto prepared = new_.commander().PrepareAdd("s", kNewEpoch, kOldOwner);
    EXPECT_TRUE(prepared.ok() && prepared->state() == v1::DONE) << prepared.status();
  }

  ServerOptions Options() {
    ServerOptions options =
        world_->Options(GetParam() == Form::kBlocking ? "kv-blocking" : "kv-callback");
    options.security = certs_.Of("spiffe://cell/server/kv/" + options.name);
    return options;
  }
  // As whoever has this identity.
  Connect As(const std::string& who) {
    return [this, who](const std::string& endpoint) {
      const auto transport =
          wire::Transport::Make(certs_.Of("spiffe://cell/" + who), "", {security::Anybody()});
      EXPECT_TRUE(transport.ok()) << transport.status();
      return (*transport)->Open(endpoint, security::AServerOf("kv"));
    };
  }

  // A call with the metadata of one that `kOldOwner` sent on under the grant to come.
  struct SentOn : Call {
    explicit SentOn(const CounterServer& to) : Call(to, 1, Headers::kSeveral) {
      context.AddMetadata(meta::kForwardedBy, kOldOwner);
      context.AddMetadata(meta::kForwardedTo, std::to_string(kNewEpoch));
    }
  };
  grpc::Status Send(const std::string& who, SentOn& call) {
    const auto stub = counter::Counter::NewStub(As(who)(new_.server().endpoint()));
    return stub->Count(&call.context, call.request, &call.response);
  }

  static constexpr char kOldOwner[] = "kv-old";
  static inline std::unique_ptr<ServerWorld> world_;
  CellCerts certs_{"cell"};
  CountLog log_;
  CounterServer new_{Options(), log_, GetParam(), As("control-plane/sm-1"), As("client/kv/test")};
};

INSTANTIATE_TEST_SUITE_P(Forms, ForgedForwarderTest,
                         ::testing::Values(Form::kBlocking, Form::kCallback), NameOf);

TEST_P(ForgedForwarderTest, TheOldOwnersIsProcessedAndThatOfOthersIsNot) {
  for (const char* other : {"client/kv/test", "server/kv/kv-3"}) {
    SentOn forged(new_);
    const grpc::Status status = Send(other, forged);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << other;
    EXPECT_EQ(forged.refusal(), meta::kNotOwner) << other;
  }
  SentOn real(new_);
  const grpc::Status status = Send(absl::StrCat("server/kv/", kOldOwner), real);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(log_.entries().size(), 1u);
}

}  // namespace
}  // namespace shardmanager
