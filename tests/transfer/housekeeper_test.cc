// The thread of a Transfer that looks through the disk.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "shardmanager/transfer.h"

namespace shardmanager {
namespace {

using namespace std::chrono_literals;

// Nothing is on this disk; counts how often somebody looked.
class EmptyDisk final : public TransferStorage {
 public:
  absl::StatusOr<std::shared_ptr<TransferableShard>> Open(const ShardId&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::vector<ShardId>> List() override {
    std::lock_guard lock(mutex_);
    ++looks_;
    looked_.notify_all();
    return std::vector<ShardId>();
  }
  bool AwaitLooks(int looks, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return looked_.wait_for(lock, patience, [&] { return looks_ >= looks; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable looked_;
  int looks_ = 0;
};

TEST(HousekeeperTest, LooksAtOnceAndThenRests) {
  EmptyDisk disk;
  Transfer transfer(
      {.server = "p", .security = {.insecure = true}, .endpoint = [] { return "p:1"; }}, disk);
  EXPECT_TRUE(disk.AwaitLooks(1, 20s));
  EXPECT_FALSE(disk.AwaitLooks(2, 50ms)) << "nothing is due within the hour";
}

}  // namespace
}  // namespace shardmanager
