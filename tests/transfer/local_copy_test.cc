#include "transfer/local_copy.h"

#include <gtest/gtest.h>

#include <memory>

#include "runtime/clock.h"

namespace shardmanager::transfer {
namespace {

// A shard without rows, on a disk that takes everything.
class EmptyShard final : public TransferableShard {
 public:
  absl::StatusOr<Contents> State() override { return Contents(); }
  absl::StatusOr<Rows> ReadRows(const std::optional<std::string>&, uint64_t) override {
    return Rows{.rows = {}, .done = true};
  }
  absl::StatusOr<Changes> ReadChanges(uint64_t after, uint64_t) override {
    return Changes{.rows = {}, .last_sequence = after, .at_end = true, .total = {}};
  }
  absl::StatusOr<RowTotal> Recount() override { return RowTotal(); }
  absl::Status Write(const TransferWrite&) override { return absl::OkStatus(); }
};

TEST(LocalCopyTest, NewOwnerThatReadsChangesWaitsUntilTheShardIsClosed) {
  LocalCopy copy(std::make_shared<EmptyShard>(), Custody());
  const TimePoint begin = MonotonicNow();
  EXPECT_FALSE(copy.AwaitClosed(Milliseconds(5)));
  EXPECT_GE(MonotonicNow() - begin, Milliseconds(5)) << "changes are gathered meanwhile";
  copy.PrepareToLeave();
  EXPECT_FALSE(copy.AwaitClosed(Duration())) << "it still serves";
  EXPECT_FALSE(copy.Close(Duration()).has_value()) << "the new owner does not have everything yet";
  EXPECT_TRUE(copy.AwaitClosed(Duration()));
}

}  // namespace
}  // namespace shardmanager::transfer
