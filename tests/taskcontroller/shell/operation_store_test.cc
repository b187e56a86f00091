// The record of container operations: what is written is read back, and a deposed leader writes
// nothing.
#include "taskcontroller/shell/operation_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordination/memory/memory_ensemble.h"

namespace shardmanager::taskcontroller {
namespace {

const AppName kApp("kv");

// The leader of a cell with one app's folder, epoch 0.
class OperationStoreTest : public ::testing::Test {
 protected:
  OperationStoreTest() {
    ensemble_.RunUntilIdle();
    std::vector<WriteOp> ops;
    for (const std::string& path :
         {paths_.root(), paths_.leader(), paths_.leader_epoch(), paths_.apps(), paths_.app(kApp)}) {
      ops.push_back(CreateNode{path, ""});
    }
    Multi(std::move(ops));
  }

  void Multi(std::vector<WriteOp> ops) {
    session_->Multi(std::move(ops), [](const WriteResult& result) {
      ASSERT_TRUE(result.status.ok()) << result.status;
    });
    ensemble_.RunUntilIdle();
  }
  static HeldOperations Some(HeldStage stage) {
    HeldOperations held;
    held[{"manager", "rollout-1/kv-1"}] = {
        .info = {.kind = v1::RESTART, .server = "kv-1", .life = Incarnation(3)}, .stage = stage};
    return held;
  }
  absl::Status Write(const HeldOperations& held) {
    absl::Status written = absl::UnknownError("no answer");
    store_.Write(held, [&written](const absl::Status& status) { written = status; });
    ensemble_.RunUntilIdle();
    return written;
  }
  absl::StatusOr<HeldOperations> Read() {
    absl::StatusOr<HeldOperations> read = absl::UnknownError("no answer");
    store_.Read([&read](auto held) { read = std::move(held); });
    ensemble_.RunUntilIdle();
    return read;
  }
  HeldStage Stage() {
    const auto read = Read();
    return read.ok() && read->size() == 1 ? read->begin()->second.stage : HeldStage::kPreparing;
  }

  MemoryEnsemble ensemble_;
  const std::unique_ptr<CoordinationStore> session_ = ensemble_.NewSession({});
  const Paths paths_{"cell"};
  OperationStore store_{{.store = session_.get(),
                         .paths = paths_,
                         .app = kApp,
                         .leader_epoch = LeaderEpoch(0),
                         .post = [](const auto& task) { task(); }}};
};

TEST_F(OperationStoreTest, WithoutARecordNothingIsHeld) {
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->empty());
}

TEST_F(OperationStoreTest, ReadsBackWhatWasWrittenLast) {
  EXPECT_EQ(Write(Some(HeldStage::kApproved)), absl::OkStatus());
  EXPECT_EQ(Write(Some(HeldStage::kBegun)), absl::OkStatus());
  EXPECT_EQ(Stage(), HeldStage::kBegun);
}

TEST_F(OperationStoreTest, ADeposedLeaderWritesNothingAndIsTold) {
  EXPECT_EQ(Write(Some(HeldStage::kApproved)), absl::OkStatus());
  Multi({SetNode{paths_.leader_epoch(), ""}});
  EXPECT_EQ(Write(Some(HeldStage::kBegun)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Stage(), HeldStage::kApproved);
}

// The answer to the write that made it was lost.
TEST_F(OperationStoreTest, WritesOverARecordThatItDoesNotKnowOf) {
  EXPECT_EQ(Write(Some(HeldStage::kApproved)), absl::OkStatus());
  OperationStore other({.store = session_.get(),
                        .paths = paths_,
                        .app = kApp,
                        .leader_epoch = LeaderEpoch(0),
                        .post = [](const auto& task) { task(); }});
  absl::Status written;
  const auto hear = [&written](const absl::Status& status) { written = status; };
  other.Write(Some(HeldStage::kBegun), hear);
  ensemble_.RunUntilIdle();
  EXPECT_FALSE(written.ok()) << "it was to be made, and is there";
  other.Write(Some(HeldStage::kBegun), hear);
  ensemble_.RunUntilIdle();
  EXPECT_EQ(written, absl::OkStatus());
  EXPECT_EQ(Stage(), HeldStage::kBegun);
}

TEST_F(OperationStoreTest, MakesARecordAnewThatSomebodyHasRemoved) {
  EXPECT_EQ(Write(Some(HeldStage::kApproved)), absl::OkStatus());
  Multi({DeleteNode{paths_.operations(kApp)}});
  EXPECT_FALSE(Write(Some(HeldStage::kBegun)).ok());
  EXPECT_EQ(Write(Some(HeldStage::kBegun)), absl::OkStatus());
  EXPECT_EQ(Stage(), HeldStage::kBegun);
}

}  // namespace
}  // namespace shardmanager::taskcontroller
