// kvstore's server, as an application team would test it: with the kit, without processes.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "service.h"
#include "shardmanager/testing.h"
#include "store.h"
#include "tests/kvstore/folder.h"

namespace kvstore {
namespace {

using shardmanager::ServerOptions;
using shardmanager::ShardId;
using shardmanager::TestCell;
using ::testing::HasSubstr;

// What main.cc makes.
struct KvServer {
  KvServer(const ServerOptions& options, const std::string& folder)
      : store(folder, options.name), server(options), service(server, store, options.name) {
    EXPECT_TRUE(server.Start(store, {&service}).ok());
  }
  ~KvServer() { server.Shutdown(); }

  SharedStore store;
  shardmanager::Server server;
  KvService service;
};

class KvServerTest : public ::testing::Test {
 protected:
  grpc::Status Put(const std::string& at, const std::string& key, const std::string& value) {
    kv::PutRequest request;
    request.set_key(key);
    request.set_value(value);
    kv::PutResponse response;
    const grpc::Status status = cell_.Call(at, "s", &kv::KeyValue::Stub::Put, request, &response);
    served_by_ = response.served_by();
    return status;
  }
  // "(nothing)": there is no such key; "(error)".
  std::string Get(const std::string& at, const std::string& key) {
    kv::GetRequest request;
    request.set_key(key);
    kv::GetResponse response;
    if (!cell_.Call(at, "s", &kv::KeyValue::Stub::Get, request, &response).ok()) return "(error)";
    return response.found() ? response.value() : "(nothing)";
  }

  const Folder folder_;
  TestCell cell_{{.app = "kv"}};
  KvServer one_{cell_.Options("kv-1"), folder_.path};
  KvServer two_{cell_.Options("kv-2"), folder_.path};
  kv::ServedBy served_by_;  // of the last Put
};

TEST_F(KvServerTest, AnswersForItsShardsAndRefusesOthers) {
  EXPECT_THAT(Put("kv-1", "k", "v").error_message(), HasSubstr("refused (not-owner)"));
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  EXPECT_TRUE(Put("kv-1", "k", "v").ok());
  EXPECT_EQ(served_by_.server(), "kv-1");
  EXPECT_EQ(served_by_.epoch(), 1u);
  EXPECT_EQ(Get("kv-1", "k"), "v");
  EXPECT_EQ(Get("kv-1", "other"), "(nothing)");
  ASSERT_TRUE(cell_.Drop("s", "kv-1").ok());
  EXPECT_THAT(Put("kv-1", "k", "v").error_message(), HasSubstr("refused (not-owner)"));
}

TEST_F(KvServerTest, MoveTakesTheKeysAlong) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  ASSERT_TRUE(Put("kv-1", "k", "before").ok());
  ASSERT_TRUE(cell_.Move("s", "kv-2").ok());
  EXPECT_EQ(Get("kv-2", "k"), "before");
  EXPECT_TRUE(Put("kv-1", "k", "after").ok());  // a client that does not know yet
  EXPECT_EQ(served_by_.server(), "kv-2");
  EXPECT_EQ(Get("kv-2", "k"), "after");
}

TEST_F(KvServerTest, DeletesAreForwardedToo) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  ASSERT_TRUE(Put("kv-1", "k", "v").ok());
  ASSERT_TRUE(cell_.Move("s", "kv-2").ok());
  kv::DeleteRequest request;
  request.set_key("k");
  kv::DeleteResponse response;
  ASSERT_TRUE(cell_.Call("kv-1", "s", &kv::KeyValue::Stub::Delete, request, &response).ok());
  EXPECT_TRUE(response.found());
  EXPECT_EQ(Get("kv-2", "k"), "(nothing)");
}

TEST_F(KvServerTest, ShardThatCannotBeOpenedIsRefusedAndServedOnceItCan) {
  const std::string blocked = folder_.path + "/s.db";
  ASSERT_EQ(mkdir(blocked.c_str(), 0755), 0);  // a folder where the file should be
  EXPECT_THAT(std::string(cell_.Assign("s", "kv-1").message()), HasSubstr("s.db"));
  EXPECT_EQ(Get("kv-1", "k"), "(error)");
  ASSERT_EQ(rmdir(blocked.c_str()), 0);
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  EXPECT_TRUE(Put("kv-1", "k", "v").ok());
}

// A request that was admitted long ago, and goes on after the shard failed over.
TEST_F(KvServerTest, StorageRefusesTheFormerOwnersLateWrite) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  ASSERT_TRUE(Put("kv-1", "k", "before").ok());
  const auto late = one_.server.Admit(ShardId("s"));
  ASSERT_TRUE(late.ok());
  ASSERT_TRUE(cell_.ExpireSession("kv-1").ok());
  ASSERT_TRUE(cell_.Assign("s", "kv-2").ok());
  EXPECT_EQ(Get("kv-2", "k"), "before");
  EXPECT_EQ(one_.store.Find(late.shard())->Put(late.epoch(), "k", "too late").code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(Get("kv-2", "k"), "before");
}

TEST_F(KvServerTest, WritesAreRefusedWithoutTheLeaseAndComeBackUnderAGreaterToken) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell_.LapseLease("kv-1").ok());
  EXPECT_THAT(Put("kv-1", "k", "v").error_message(), HasSubstr("refused (lease-lapsed)"));
  ASSERT_TRUE(cell_.Reconnect("kv-1").ok());
  ASSERT_TRUE(cell_.Regrant("s", "kv-1").ok());
  EXPECT_TRUE(Put("kv-1", "k", "v").ok());
  EXPECT_EQ(served_by_.epoch(), 2u);
}

TEST_F(KvServerTest, ReportsItsLoad) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  ASSERT_TRUE(Put("kv-1", "k", std::string(100'000, 'v')).ok());
  const auto load = cell_.Load("s", "kv-1");
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_GE(load->at("bytes"), 100'000);
  EXPECT_TRUE(load->contains("requests"));
}

}  // namespace
}  // namespace kvstore
