// Primaries on a server some of whose secondaries are live, but do not answer it: UpdateMembership
// of many shards waits for them, and the other shards must not wait along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "shardmanager/server.h"
#include "tests/server/server_world.h"

namespace shardmanager {
namespace {

const Peer kSelf{ServerName("kv-1"), "127.0.0.1:1"};
const Peer kSilent{ServerName("kv-8"), "127.0.0.1:1"};
const Peer kDead{ServerName("kv-9"), "127.0.0.1:1"};
constexpr uint64_t kEpoch = 5;
constexpr int kAtWork = 2;
constexpr int kAll = 11;

// Waits for kv-8 until it is told to give up.
class WaitingHandler final : public ShardHandler {
 public:
  absl::Status AddShard(const ShardGrant&, const LoadProgress&) override {
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { return absl::OkStatus(); }
  absl::Status UpdateMembership(const ShardId&, const Members& members) override {
    if (std::find(members.begin(), members.end(), kSilent) == members.end()) {
      return absl::OkStatus();
    }
    std::unique_lock lock(mutex_);
    const int call = ++calls_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return call <= given_up_; });
    return absl::UnavailableError("kv-8 does not answer");
  }

  // Calls that wait for kv-8, up to this one, in order.
  void GiveUp(int call) {
    std::lock_guard lock(mutex_);
    given_up_ = call;
    changed_.notify_all();
  }
  void AwaitCalls(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ >= count; });
  }
  int calls() {
    std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  int given_up_ = 0;
};

class SilentMemberTest : public ::testing::Test {
 protected:
  SilentMemberTest() : server_(Options()) {
    world_.ApplyApp();
    EXPECT_TRUE(server_.Start(handler_, {}).ok());
    for (const std::string& shard : AllShards()) {
      EXPECT_EQ(State(Commands().Add(shard, kEpoch)), v1::DONE);
    }
  }
  ~SilentMemberTest() override { handler_.GiveUp(kAll); }

  ServerOptions Options() const {
    ServerOptions options = world_.Options("kv-1");
    options.drain_timeout = std::chrono::seconds(5);
    options.command_threads = kAtWork;
    return options;
  }
  Commander Commands() const { return Commander(server_.endpoint(), "kv-1", 1); }
  static v1::ShardState State(const absl::StatusOr<v1::ShardResult>& result) {
    return result.ok() ? result->state() : v1::SHARD_STATE_UNSPECIFIED;
  }
  static std::vector<std::string> AllShards() {
    std::vector<std::string> shards;
    for (int i = 0; i < kAll; ++i) shards.push_back(absl::StrCat("s", i));
    return shards;
  }
  // In one command, the last one last: kv-8 is to become a member. The first calls are at work.
  void Adopt(const std::vector<std::string>& shards) {
    adoptions_ = std::async(std::launch::async, [this, shards] {
      return Commands().SetMembers(shards, kEpoch, {kSelf, kSilent}, 2);
    });
    handler_.AwaitCalls(kAtWork);
  }

  ServerWorld world_;
  WaitingHandler handler_;
  Server server_;
  std::future<std::map<std::string, v1::ShardState>> adoptions_;
};

TEST_F(SilentMemberTest, AShardWhoseTurnHasNotComeIsDemotedInTime) {
  Adopt(AllShards());
  EXPECT_EQ(State(Commands().Demote("s10", kEpoch + 1)), v1::DONE);
  handler_.GiveUp(kAll);
  for (const auto& [shard, state] : adoptions_.get()) {
    EXPECT_EQ(state, shard == "s10" ? v1::STALE : v1::FAILED) << shard;
  }
}

TEST_F(SilentMemberTest, AServerThatStopsWaitsOnlyForTheCallsAtWorkAndSaysGoodBye) {
  Adopt(AllShards());
  auto stops = std::async(std::launch::async, [&] { server_.Shutdown(); });
  ASSERT_TRUE(
      Eventually([&] { return absl::IsUnavailable(Commands().Add("another", kEpoch).status()); }));
  handler_.GiveUp(kAtWork);
  EXPECT_TRUE(Eventually([&] {
    v1::ServerRecord record;
    return Open(world_.Read(world_.ServerPath("kv-1")).value(), &record).ok() && record.departed();
  }));
  EXPECT_EQ(handler_.calls(), kAtWork);
  handler_.GiveUp(kAll);
  stops.get();
}

TEST_F(SilentMemberTest, ADeadMemberIsRemovedWhileOthersAreWaitedFor) {
  const auto one = [&](const Members& members, uint64_t version) {
    return Commands().SetMembers({"s10"}, kEpoch, members, version)["s10"];
  };
  EXPECT_EQ(one({kSelf, kDead}, 1), v1::DONE);
  std::vector<std::string> others = AllShards();
  others.pop_back();
  Adopt(others);
  EXPECT_EQ(one({kSelf}, 2), v1::DONE);
}

}  // namespace
}  // namespace shardmanager
