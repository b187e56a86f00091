// kvstore's server, as an application team would test it: with the kit, without processes.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "callback_service.h"
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
  KvServer(const ServerOptions& options, const std::string& folder, bool callback = false)
      : store(folder, options.name),
        server(options),
        service(server, store, options.name),
        callback_service(server, store, options.name) {
    grpc::Service* serves = &service;
    if (callback) serves = &callback_service;
    EXPECT_TRUE(server.Start(store, {serves}).ok());
  }
  ~KvServer() { server.Shutdown(); }

  SharedStore store;
  shardmanager::Server server;
  KvService service;
  CallbackKvService callback_service;
};

// A stream of PutEach to a server, for the shard "s".
class PutStream {
 public:
  PutStream(const TestCell& cell, const std::string& at) : stub_(cell.Channel(at)) {
    cell.Address(at, "s", &context_);
    stream_ = stub_.PutEach(&context_);
  }
  // The answer; nothing: the stream has ended.
  std::optional<kv::PutEachResponse> Put(uint64_t sequence, const std::string& value) {
    kv::PutEachRequest request;
    request.set_sequence(sequence);
    request.set_key("k");
    request.set_value(value);
    kv::PutEachResponse response;
    if (!stream_->Write(request) || !stream_->Read(&response)) return std::nullopt;
    EXPECT_EQ(response.sequence(), sequence);
    return response;
  }
  // Without further messages.
  grpc::Status Finish() {
    stream_->WritesDone();
    return stream_->Finish();
  }

 private:
  kv::KeyValue::Stub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<kv::PutEachRequest, kv::PutEachResponse>> stream_;
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
  KvServer two_{cell_.Options("kv-2"), folder_.path, /*callback=*/true};
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

TEST_F(KvServerTest, ScansAShardInPagesInBothForms) {
  for (const std::string at : {"kv-1", "kv-2"}) {
    ASSERT_TRUE(cell_.Assign("s", at).ok());
    for (const char* key : {"a", "b", "c", "d"}) ASSERT_TRUE(Put(at, key, "v").ok());
    kv::ScanRequest request;
    request.set_start("b");
    request.set_end("d");
    request.set_max_rows(1);
    kv::ScanResponse first;
    ASSERT_TRUE(cell_.Call(at, "s", &kv::KeyValue::Stub::Scan, request, &first).ok());
    ASSERT_EQ(first.rows_size(), 1);
    EXPECT_EQ(first.rows(0).key(), "b");
    EXPECT_EQ(first.rows(0).value(), "v");
    EXPECT_TRUE(first.more());
    EXPECT_EQ(first.served_by().server(), at);
    request.set_start(std::string("b\0", 2));
    kv::ScanResponse second;
    ASSERT_TRUE(cell_.Call(at, "s", &kv::KeyValue::Stub::Scan, request, &second).ok());
    ASSERT_EQ(second.rows_size(), 1);
    EXPECT_EQ(second.rows(0).key(), "c");
    EXPECT_FALSE(second.more());
    ASSERT_TRUE(cell_.Drop("s", at).ok());
  }
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

// kv-1 serves with blocking methods, kv-2 with callbacks.
TEST_F(KvServerTest, OpenStreamsHoldUpNoMoveAndEndWithTheirShardInBothForms) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  for (const auto& [at, to] : {std::pair("kv-1", "kv-2"), std::pair("kv-2", "kv-1")}) {
    PutStream stream(cell_, at);
    const auto answer = stream.Put(7, absl::StrCat("stored by ", at));
    ASSERT_TRUE(answer.has_value()) << stream.Finish().error_message();
    EXPECT_EQ(answer->served_by().server(), at);
    EXPECT_EQ(Get(at, "k"), absl::StrCat("stored by ", at));
    ASSERT_TRUE(cell_.Move("s", to).ok());
    EXPECT_FALSE(stream.Put(8, "to the former owner").has_value());
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Get(to, "k"), absl::StrCat("stored by ", at));
  }
}

TEST_F(KvServerTest, StreamIsOpenedAnewWhenItsServerIsNoLongerThePrimaryInBothForms) {
  for (const std::string at : {"kv-1", "kv-2"}) {
    ASSERT_TRUE(cell_.Assign("s", at).ok());
    PutStream stream(cell_, at);
    EXPECT_TRUE(stream.Put(1, "to the primary").has_value());
    ASSERT_TRUE(cell_.Demote("s", at).ok());
    EXPECT_FALSE(stream.Put(2, "to a secondary").has_value());
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    ASSERT_TRUE(cell_.Drop("s", at).ok());
  }
}

TEST_F(KvServerTest, StreamsAreForwardedTooAndEndWithTheirClientInBothForms) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  for (const auto& [at, to] : {std::pair("kv-1", "kv-2"), std::pair("kv-2", "kv-1")}) {
    ASSERT_TRUE(cell_.Move("s", to).ok());
    PutStream stream(cell_, at);  // a client that does not know yet
    for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
      const auto answer = stream.Put(sequence, absl::StrCat(at, " ", sequence));
      ASSERT_TRUE(answer.has_value()) << stream.Finish().error_message();
      EXPECT_EQ(answer->served_by().server(), to);
    }
    EXPECT_TRUE(stream.Finish().ok());
    EXPECT_EQ(Get(to, "k"), absl::StrCat(at, " 3"));
  }
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
