// Replicas on three servers of one process: real files, real gRPC, no control plane.
#include "replicated_shard.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replicated_store.h"
#include "tests/coordination/tcp_proxy.h"
#include "tests/kvstore/folder.h"
#include "tests/kvstore/loopback_server.h"

namespace kvstore {
namespace {

using shardmanager::Members;
using shardmanager::Peer;
using shardmanager::Role;
using shardmanager::ServerName;
using shardmanager::ShardGrant;
using shardmanager::ShardId;
using ::testing::HasSubstr;

const ShardId kShard("s");

// A server, with a disk of its own.
class Site {
 public:
  Site(std::string name, const std::string& folder)
      : name_(std::move(name)), folder_(absl::StrCat(folder, "/", name_)) {
    std::filesystem::create_directories(folder_);
    Start();
    Grant(1, Role::kSecondary);
  }
  ~Site() { Stop(); }

  void Start() {
    store_ = std::make_unique<ReplicatedStore>(
        folder_, name_,
        OtherServers{.open =
                         [](const std::string& endpoint, const grpc::ChannelArguments& arguments) {
                           return grpc::CreateCustomChannel(
                               endpoint, grpc::InsecureChannelCredentials(), arguments);
                         },
                     .check = [](const grpc::ServerContextBase&) { return absl::OkStatus(); }});
    server_.Start(*store_->replica_service());
  }
  void Stop() {
    server_.Stop();
    store_.reset();
  }

  void Grant(uint64_t epoch, Role role, std::optional<Members> members = std::nullopt) {
    const ShardGrant grant{
        .shard = kShard, .role = role, .epoch = ShardEpoch(epoch), .members = std::move(members)};
    EXPECT_TRUE(store_->AddShard(grant, [](double) {}).ok());
    epoch_ = ShardEpoch(epoch);
  }
  // Tells the members until they are taken, as the control plane does: a connection to one that
  // was away may need a moment.
  void Lead(uint64_t epoch, const Members& members) {
    Grant(epoch, Role::kPrimary, members);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    absl::Status status = SetMembers(members);
    while (!status.ok() && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      status = SetMembers(members);
    }
    EXPECT_TRUE(status.ok()) << status;
  }
  absl::Status SetMembers(const Members& members) {
    return store_->UpdateMembership(kShard, members);
  }
  absl::Status Put(const std::string& key, const std::string& value) {
    return store_->Find(kShard)->Put(epoch_, key, value);
  }
  ReplicatedShard& replica() { return *store_->Replica(kShard.value()); }
  // As a client reads it: "(nothing)": there is no such key; else an error.
  std::string Get(const std::string& key) {
    const auto value = store_->Find(kShard)->Get(key);
    return value.ok() ? value->value_or("(nothing)") : value.status().ToString();
  }
  Peer peer() const { return {ServerName(name_), server_.endpoint()}; }
  int port() const { return server_.port(); }

 private:
  const std::string name_;
  const std::string folder_;
  ShardEpoch epoch_;
  std::unique_ptr<ReplicatedStore> store_;
  LoopbackServer server_;
};

class ReplicatedShardTest : public ::testing::Test {
 protected:
  ReplicatedShardTest() { one_.Lead(2, All()); }

  Members All() const { return {one_.peer(), two_.peer(), three_.peer()}; }
  // Two has what three did not take: nobody knows whether it happened.
  void PutInDoubt(const std::string& key, const std::string& value) {
    three_.Stop();
    EXPECT_FALSE(one_.Put(key, value).ok());
    three_.Start();
    three_.Grant(1, Role::kSecondary);
  }

  const Folder folder_;
  Site one_{"kv-1", folder_.path};
  Site two_{"kv-2", folder_.path};
  Site three_{"kv-3", folder_.path};
};

TEST_F(ReplicatedShardTest, WhatIsAcknowledgedEveryMemberHas) {
  ASSERT_TRUE(one_.Put("k", "v").ok());
  EXPECT_EQ(two_.Get("k"), "v");
  EXPECT_EQ(three_.Get("k"), "v");
}

// Seed 93 of the chaos: a value was read, and was not there any more.
TEST_F(ReplicatedShardTest, WhatWasReadFromAPrimaryTheNextOneHas) {
  ASSERT_TRUE(one_.Put("k", "old").ok());
  PutInDoubt("k", "new");
  EXPECT_EQ(one_.Get("k"), "old");
  one_.Grant(3, Role::kSecondary);
  two_.Lead(4, All());
  EXPECT_EQ(two_.Get("k"), "new");
  two_.Grant(5, Role::kSecondary);
  three_.Lead(6, All());
  EXPECT_EQ(three_.Get("k"), "new");
}

TEST_F(ReplicatedShardTest, WhatWasMissedByAPrimaryTheNextOneHasNot) {
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(one_.Put(key, "old").ok());
  PutInDoubt("b", "new");
  PutInDoubt("d", "new");
  one_.Grant(3, Role::kSecondary);
  three_.Lead(4, All());
  for (Site* site : {&one_, &two_, &three_}) {
    EXPECT_EQ(site->Get("a"), "old");
    EXPECT_EQ(site->Get("b"), "old");
    EXPECT_EQ(site->Get("c"), "old");
    EXPECT_EQ(site->Get("d"), "(nothing)");
  }
}

TEST_F(ReplicatedShardTest, ANewPrimaryIsNotReadBeforeItsMembersHaveWhatItHas) {
  PutInDoubt("k", "new");
  one_.Stop();
  two_.Grant(4, Role::kPrimary, All());
  EXPECT_THAT(two_.Get("k"), HasSubstr("UNAVAILABLE"));
  EXPECT_FALSE(two_.Put("k", "newer").ok());
  two_.Lead(4, {two_.peer(), three_.peer()});
  EXPECT_EQ(two_.Get("k"), "new");
  EXPECT_EQ(three_.Get("k"), "new");
}

TEST_F(ReplicatedShardTest,
       APrimaryThatIsBackUnderItsGrantIsReadAtOnceAndWritesOnceItKnowsItsMembers) {
  ASSERT_TRUE(one_.Put("k", "v").ok());
  one_.Stop();
  one_.Start();
  one_.Grant(2, Role::kPrimary);
  EXPECT_EQ(one_.Get("k"), "v");
  EXPECT_FALSE(one_.Put("k", "w").ok());
  ASSERT_TRUE(one_.SetMembers(All()).ok());
  ASSERT_TRUE(one_.Put("k", "w").ok());
  EXPECT_EQ(two_.Get("k"), "w");
  EXPECT_EQ(three_.Get("k"), "w");
}

TEST_F(ReplicatedShardTest, WritesOfAFormerRunOfThePrimaryComeLate) {
  ASSERT_TRUE(one_.Put("k", "v").ok());
  kv::ApplyRequest late;
  late.set_epoch(2);
  late.set_run(1);  // of the same grant, long before
  late.set_sequence(1'000);
  late.set_key("k");
  late.set_value("late");
  EXPECT_EQ(two_.replica().Apply(late).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(two_.Get("k"), "v");
}

TEST_F(ReplicatedShardTest, APrimaryWhoseDiskWasLostCanBringOthersIntoStep) {
  ASSERT_TRUE(one_.Put("k", "v").ok());
  one_.Stop();
  std::filesystem::remove_all(folder_.path + "/kv-1");
  std::filesystem::create_directories(folder_.path + "/kv-1");
  one_.Start();
  one_.Grant(2, Role::kPrimary);
  ASSERT_TRUE(one_.SetMembers(All()).ok());
  EXPECT_TRUE(one_.Put("k", "w").ok());
}

TEST_F(ReplicatedShardTest, APrimaryThatIsBackAndWasNeverReadIsNotReadYet) {
  PutInDoubt("k", "new");
  one_.Stop();
  two_.Grant(4, Role::kPrimary, All());  // one does not answer
  two_.Stop();
  two_.Start();
  two_.Grant(4, Role::kPrimary);
  EXPECT_THAT(two_.Get("k"), HasSubstr("UNAVAILABLE"));
}

TEST_F(ReplicatedShardTest, AMessageWithoutRowsBeforeTheEndTakesNothingAway) {
  ASSERT_TRUE(one_.Put("k", "v").ok());
  kv::CopyRequest message;
  message.set_epoch(3);
  const auto copy = two_.replica().BeginCopy(message);
  ASSERT_TRUE(copy.ok());
  EXPECT_TRUE(two_.replica().AddRows(*copy, kv::CopyRequest()).ok());
  EXPECT_EQ(two_.Get("k"), "v");
}

TEST_F(ReplicatedShardTest, WritesGoOnWhileOneThatDoesNotAnswerIsToBecomeAMember) {
  ASSERT_TRUE(one_.SetMembers({one_.peer(), two_.peer()}).ok());
  shardmanager::TcpProxy silent(two_.port());
  silent.Set(shardmanager::TcpProxy::Mode::kBlackhole);
  const Peer never{ServerName("kv-4"), absl::StrCat("127.0.0.1:", silent.port())};
  std::atomic<bool> answered = false;
  std::thread adopts([&] {
    EXPECT_FALSE(one_.SetMembers({one_.peer(), two_.peer(), never}).ok());
    answered = true;
  });
  silent.AwaitAccepted(0);
  EXPECT_TRUE(one_.Put("k", "v").ok());
  EXPECT_FALSE(answered);
  silent.Set(shardmanager::TcpProxy::Mode::kCut);
  adopts.join();
  EXPECT_EQ(two_.Get("k"), "v");
}

// Its shards could not be demoted for as long as it waited, and other shards waited for theirs.
TEST_F(ReplicatedShardTest, OneThatDoesNotAnswerIsGivenUpSoon) {
  shardmanager::TcpProxy silent(two_.port());
  silent.Set(shardmanager::TcpProxy::Mode::kBlackhole);
  const Peer never{ServerName("kv-4"), absl::StrCat("127.0.0.1:", silent.port())};
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_FALSE(one_.SetMembers({one_.peer(), never}).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(5));
}

TEST_F(ReplicatedShardTest, WhatIsWrittenWhileItIsCopiedANewMemberHas) {
  ASSERT_TRUE(one_.SetMembers({one_.peer(), two_.peer()}).ok());
  constexpr int kKeys = 3'000;
  const auto key = [](int i) { return absl::StrCat("k", i); };
  for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(one_.Put(key(i), "old").ok());
  std::atomic<bool> adopted = false;
  std::thread adopts([&] {
    EXPECT_TRUE(one_.SetMembers(All()).ok());
    adopted = true;
  });
  int written = 0;
  for (; written < kKeys && !adopted; ++written) {
    ASSERT_TRUE(one_.Put(key(kKeys - 1 - written), "new").ok());
  }
  adopts.join();
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_EQ(three_.Get(key(i)), i >= kKeys - written ? "new" : "old") << i;
  }
}

TEST_F(ReplicatedShardTest, AShardOfManyRowsIsCopiedWhole) {
  ASSERT_TRUE(one_.SetMembers({one_.peer()}).ok());
  for (int i = 0; i < 1'200; ++i) ASSERT_TRUE(one_.Put(absl::StrCat("k", i), "v").ok());
  ASSERT_TRUE(one_.SetMembers(All()).ok());
  for (int i = 0; i < 1'200; ++i) ASSERT_EQ(three_.Get(absl::StrCat("k", i)), "v");
}

}  // namespace
}  // namespace kvstore
