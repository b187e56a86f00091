// The examples of docs/callback-services.md: they compile, they work, and they are the same.
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "kv.grpc.pb.h"
#include "model/request_metadata.h"
#include "tests/golden/source_root.h"
#include "tests/server/server_world.h"

namespace shardmanager {
namespace {

using Kv = kv::KeyValue;

// An application's storage, in the two ways that its operations may end.
class Store {
 public:
  using Done = std::function<void(const std::string& value)>;
  void Read(const ShardId&, const std::string& key, Done done) {
    reading_ = std::jthread([this, key, done = std::move(done)] { done(Find(key)); });
  }
  grpc::Status Put(const ShardId&, ShardEpoch, const std::string& key, const std::string& value) {
    std::lock_guard lock(mutex_);
    values_[key] = value;
    return grpc::Status::OK;
  }

 private:
  std::string Find(const std::string& key) {
    std::lock_guard lock(mutex_);
    return values_[key];
  }

  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::jthread reading_;
};

class KvService final : public Kv::CallbackService {
 public:
  KvService(Server& server, Store& store) : server_(server), store_(store) {}

 private:
  // clang-format off
grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const kv::GetRequest* request,
                              kv::GetResponse* response) override {
  return server_.Admit<Kv>(*context, &Kv::Stub::async::Get, request, response,
                           [=, this](const AdmittedCall& call) {
    store_.Read(call.shard(), request->key(), [=](const std::string& value) {
      response->set_value(value);
      call.Finish(grpc::Status::OK);
    });
  });
}

grpc::ServerUnaryReactor* Put(grpc::CallbackServerContext* context, const kv::PutRequest* request,
                              kv::PutResponse* response) override {
  return server_.Admit<Kv>(*context, &Kv::Stub::async::Put, request, response,
                           [=, this](const Admission& admission) {
    return store_.Put(admission.shard(), admission.epoch(), request->key(), request->value());
  });
}
  // clang-format on

  Server& server_;
  Store& store_;
};

TEST(CallbackExampleTest, Works) {
  ServerWorld world;
  world.ApplyApp();
  world.Assign("kv-1", {Granted("s", 5)});
  RecordingHandler handler;
  Store store;
  Server server(world.Options("kv-1"));
  KvService service(server, store);
  ASSERT_TRUE(server.Start(handler, {&service}).ok());
  ASSERT_TRUE(Eventually([&] { return server.Admit(ShardId("s")).ok(); }));
  const auto stub =
      Kv::NewStub(grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials()));

  grpc::ClientContext putting;
  putting.AddMetadata(request_metadata::kShard, "s");
  kv::PutRequest put;
  put.set_key("apple");
  put.set_value("red");
  kv::PutResponse put_response;
  EXPECT_TRUE(stub->Put(&putting, put, &put_response).ok());

  grpc::ClientContext getting;
  getting.AddMetadata(request_metadata::kShard, "s");
  kv::GetRequest get;
  get.set_key("apple");
  kv::GetResponse response;
  EXPECT_TRUE(stub->Get(&getting, get, &response).ok());
  EXPECT_EQ(response.value(), "red");
  server.Shutdown();
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CallbackExampleTest, IsTheOneOfThePage) {
  const std::string page = ReadAll(SourceRoot() / "docs/callback-services.md");
  const std::string code =
      ReadAll(SourceRoot() / "tests/server/forwarding/callback_example_test.cc");
  size_t examples = 0;
  for (size_t at = 0; (at = page.find("```cpp\ngrpc::", at)) != std::string::npos; ++examples) {
    at += std::string("```cpp\n").size();
    const std::string example = page.substr(at, page.find("```", at) - at);
    EXPECT_NE(code.find(example), std::string::npos) << example;
  }
  EXPECT_EQ(examples, 2u);
}

}  // namespace
}  // namespace shardmanager
