// Writes whose answer was lost, by a process that comes back to a server of the store which has not
// heard of them yet: they are read back after a sync, or what was done is taken for undone.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <optional>

#include "coordination/memory/memory_ensemble.h"
#include "orchestrator/control/spec_store.h"
#include "orchestrator/shell/batch_writer.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kBuckets = 2;
constexpr LeaderEpoch kEpoch(0);  // as often as the node was written
const Paths kPaths("cell");
const AppName kApp("kv");

class ReadBackTest : public testing::Test {
 protected:
  ReadBackTest() : store_(ensemble_.NewSession({})), session_(ensemble_.last_session()) {
    spdlog::set_level(spdlog::level::off);
    std::vector<WriteOp> ops;
    for (const std::string& path : {kPaths.root(), kPaths.leader(), kPaths.leader_epoch(),
                                    kPaths.apps(), kPaths.app(kApp), kPaths.assignments(kApp)}) {
      ops.push_back(CreateNode{path, ""});
    }
    for (uint32_t b = 0; b < kBuckets; ++b) {
      ops.push_back(CreateNode{Paths::bucket(kPaths.assignments(kApp), b), ""});
    }
    store_->Multi(ops, [](const WriteResult& result) { ASSERT_TRUE(result.status.ok()); });
    ensemble_.RunUntilIdle();
  }

  void LoseAnswer() {
    ensemble_.LagAfterReconnect(session_, Seconds(2));
    ensemble_.LoseNextAnswer(session_);
  }
  void ComeBack() {
    ensemble_.RunUntilIdle();
    ensemble_.Reconnect(session_);
    ensemble_.RunUntilIdle();
    ensemble_.AdvanceTo(ensemble_.now() + Seconds(3));
    ensemble_.RunUntilIdle();
  }
  // Of one shard of that epoch at kv-1.
  void Write(uint64_t epoch) {
    Persist batch{.batch = epoch};
    batch.writes.push_back(
        {server_, {{shard_, Role::kPrimary, Phase::kGranted, ShardEpoch(epoch), 0}}});
    outcome_.reset();
    writer_.Write(batch, tables_, [this](const WriteDone& done) { outcome_ = done.outcome; });
  }
  static v1::StoredSpec Spec(uint32_t replicas) {
    v1::StoredSpec stored;
    stored.mutable_spec()->set_name(kApp.value());
    stored.mutable_spec()->mutable_replication()->set_replicas(replicas);
    return stored;
  }
  SpecStore::Done Answer() {
    answer_.reset();
    return [this](const absl::StatusOr<int32_t>& version) { answer_ = version.status(); };
  }

  MemoryEnsemble ensemble_;
  std::unique_ptr<CoordinationStore> store_;
  const SessionNumber session_;
  Tables tables_;
  const ShardIndex shard_ = tables_.InternShard("s");
  const ServerIndex server_ = tables_.InternServer("kv-1");
  BatchWriter writer_{
      {store_.get(), kPaths, kApp, kBuckets, kEpoch, [](const auto& task) { task(); }}, {}};
  SpecStore specs_{store_.get(), kPaths, kBuckets, kEpoch};
  std::optional<WriteOutcome> outcome_;
  std::optional<absl::Status> answer_;
};

TEST_F(ReadBackTest, AFirstRecordThatWasWrittenIsFound) {
  LoseAnswer();
  Write(1);
  ComeBack();
  EXPECT_EQ(outcome_, WriteOutcome::kOk);
}

TEST_F(ReadBackTest, ARecordThatWasWrittenOverAnOlderOneIsFound) {
  Write(1);
  ensemble_.RunUntilIdle();
  ASSERT_EQ(outcome_, WriteOutcome::kOk);
  LoseAnswer();
  Write(2);
  ComeBack();
  EXPECT_EQ(outcome_, WriteOutcome::kOk);
}

TEST_F(ReadBackTest, WhatNeverReachedTheStoreIsSaidToHaveFailed) {
  Write(1);
  ensemble_.Disconnect(session_);
  ComeBack();
  EXPECT_EQ(outcome_, WriteOutcome::kFailed);
}

TEST_F(ReadBackTest, ASpecThatWasCreatedIsFound) {
  LoseAnswer();
  specs_.Create(kApp, Spec(1), Answer());
  ComeBack();
  ASSERT_TRUE(answer_.has_value());
  EXPECT_TRUE(answer_->ok()) << *answer_;
}

TEST_F(ReadBackTest, ASpecThatWasReplacedIsFound) {
  specs_.Create(kApp, Spec(1), Answer());
  ensemble_.RunUntilIdle();
  LoseAnswer();
  specs_.Replace(kApp, Spec(2), 0, Answer());
  ComeBack();
  ASSERT_TRUE(answer_.has_value());
  EXPECT_TRUE(answer_->ok()) << *answer_;
}

}  // namespace
}  // namespace shardmanager::orchestrator
