// Shards are split and merged while clients write and read: no request fails, and nothing is lost.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr int kShards = 6;
constexpr int kKeysOfShard = 40;

// Each thread has keys of its own in all shards, and so knows what it must read.
class WritingClients {
 public:
  explicit WritingClients(KvClient& client) : client_(client) {
    for (int thread = 0; thread < kThreads; ++thread) {
      threads_.emplace_back([this, thread] { Run(thread); });
    }
  }
  ~WritingClients() { Stop(); }

  // What went wrong; empty: nothing.
  std::string Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    std::string problems;
    for (const std::string& problem : problems_) problems += problem;
    return problems;
  }
  int rounds() const { return rounds_; }
  // The longest that a call took.
  int64_t slowest_ms() const { return slowest_ms_; }

 private:
  static constexpr int kThreads = 4;

  void Run(int thread) {
    for (int round = 0; !stop_ && problems_[thread].empty(); ++round) {
      for (int shard = 0; shard < kShards; ++shard) {
        const std::string key = KeyOf(shard, (round % 10) * kThreads + thread);
        const std::string value = absl::StrCat(thread, ":", round);
        const auto begun = std::chrono::steady_clock::now();
        const KvAnswer put = client_.Put(key, value);
        const auto took = std::chrono::steady_clock::now() - begun;
        const int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
        if (ms > slowest_ms_) slowest_ms_ = ms;  // (Two at a time: the figure is for people.)
        if (!put.status.ok()) problems_[thread] = "put " + key + ": " + put.status.ToString();
        const KvAnswer got = client_.Get(key);
        if (!got.status.ok()) problems_[thread] = "get " + key + ": " + got.status.ToString();
        if (got.status.ok() && got.value != value) {
          problems_[thread] =
              absl::StrCat("get ", key, ": ", got.value.value_or("nothing"), ", and not ", value);
        }
      }
      ++rounds_;
    }
  }

  KvClient& client_;
  std::atomic<bool> stop_{false};
  std::atomic<int> rounds_{0};
  std::atomic<int64_t> slowest_ms_{0};
  std::vector<std::string> problems_{kThreads};
  std::vector<std::thread> threads_;
};

class ReshapeTest : public ClusterTest {
 protected:
  void Shardctl(const std::vector<std::string>& arguments, const std::string& says) {
    const auto answer = cluster_->Shardctl(arguments);
    EXPECT_EQ(answer.exit_code, 0) << answer.output;
    EXPECT_THAT(answer.output, HasSubstr(says));
  }
  std::string ServerOf(const std::string& shard) {
    const auto explained = cluster_->admin().ExplainShard("kv", shard);
    const bool one = explained.ok() && explained->replicas_size() == 1;
    return one ? explained->replicas(0).server() : "";
  }
  // Of the shards that are served; no request fails, and nothing is lost.
  void SplitAndMergeUnderLoad() {
    for (int shard = 0; shard < kShards; ++shard) {
      SM_ASSERT_OK(client_->Put(KeyOf(shard, kKeysOfShard), "before").status);
    }
    WritingClients clients(*client_);
    Shardctl({"split", "shard-2", "--at", "00002/2", "--wait"}, "done: shard-2 into shard-2.0");
    Shardctl({"split", "shard-5", "--at", "00005/1", "--at", "00005/3", "--into", "a,b,c", "-w"},
             "done: shard-5 into a, b, c");
    Shardctl({"merge", "shard-0", "shard-1", "--into", "m", "--wait"},
             "done: shard-0, shard-1 into m");
    Shardctl({"merge", "shard-2.1", "shard-2.0", "--into", "again", "--wait"},
             "done: shard-2.0, shard-2.1 into again");
    const int rounds = clients.rounds();
    EXPECT_EQ(clients.Stop(), "");
    EXPECT_GT(rounds, 0);
    EXPECT_LT(clients.slowest_ms(), 4'000) << "requests wait while files are copied, no longer";
    std::cout << "slowest call: " << clients.slowest_ms() << " ms, of " << rounds * kShards * 2
              << "\n";

    EXPECT_TRUE(map_->WaitFor(
        [](const MapView& v) { return v.all_served() && v.shards.size() == 7; }, kPatience))
        << map_->view().Describe();
    for (int shard = 0; shard < kShards; ++shard) {
      const KvAnswer got = client_->Get(KeyOf(shard, kKeysOfShard));
      SM_ASSERT_OK(got.status);
      EXPECT_THAT(got.value, Optional(std::string("before")))
          << "from before the splits and merges";
    }
  }
};

TEST_F(ReshapeTest, SplitsAndMergesUnderLoadLoseNoRequest) {
  SM_ASSERT_OK(StartServing(3, kShards));
  SplitAndMergeUnderLoad();
}

TEST_F(ReshapeTest, NorDoThoseOfShardsWithAPrimaryAndSecondaries) {
  SM_ASSERT_OK(StartReplicated(3, kShards));
  SplitAndMergeUnderLoad();
  EXPECT_TRUE(AwaitReplicas(3)) << map_->view().Describe();
}

TEST_F(ReshapeTest, ASplitShardSurvivesItsServerAndItsLeader) {
  SM_ASSERT_OK(StartServing(2, kShards));
  SM_ASSERT_OK(client_->Put("00002/1", "low").status);
  SM_ASSERT_OK(client_->Put("00002/9", "high").status);
  Shardctl({"split", "shard-2", "--at", "00002/5", "--wait"}, "done");
  cluster_->server(ServerOf("shard-2.1")).Kill();
  EXPECT_TRUE(map_->WaitFor([](const MapView& v) { return v.all_served(); }, kPatience))
      << map_->view().Describe();
  EXPECT_THAT(client_->Get("00002/1").value, Optional(std::string("low")));
  EXPECT_THAT(client_->Get("00002/9").value, Optional(std::string("high")));
}

TEST_F(ReshapeTest, WhatCannotBeSplitIsRefusedAndSaysWhy) {
  SM_ASSERT_OK(StartServing(1, kShards));
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why) {
    const auto answer = cluster_->Shardctl(arguments);
    EXPECT_NE(answer.exit_code, 0) << answer.output;
    EXPECT_THAT(answer.output, HasSubstr(why));
  };
  refused({"split", "shard-9", "--at", "x"}, "app \"kv\" has no shard \"shard-9\"");
  refused({"split", "shard-2", "--at", "00007"}, "cuts[0]: found \"00007\"; allowed: a key after");
  refused({"split", "shard-2", "--at", "\\q"}, "--at: found \"\\\\q\"; allowed: text, in which");
  refused({"merge", "shard-0", "shard-2", "--into", "m"}, "with other shards between them");
  refused({"merge", "shard-0", "shard-1", "--into", "shard-2"}, "which is a shard's id");
  Shardctl({"pause", "app", "kv"}, "");
  refused({"split", "shard-2", "--at", "00002/5"}, "it is paused: resume it first");
}

}  // namespace
}  // namespace shardmanager::testing
