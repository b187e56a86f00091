#include "local_shard.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kvstore {
namespace {

using shardmanager::RowTotal;
using shardmanager::ShardEpoch;
using shardmanager::TransferRow;
using shardmanager::TransferWrite;
using ::testing::Optional;

constexpr uint64_t kMegabyte = 1 << 20;

class LocalShardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "local_shard_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    shard_ = Open();
  }
  void TearDown() override {
    shard_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::shared_ptr<LocalShard> Open() { return *LocalShard::Open(folder_ + "/s.db"); }
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(shard_->Put(ShardEpoch(1), key, value).ok());
  }

  std::string folder_;
  std::shared_ptr<LocalShard> shard_;
};

TEST_F(LocalShardTest, TotalIsThatOfTheRowsWhateverHappenedToThem) {
  Put("a", "1");
  Put("b", "2");
  Put("a", "3");
  EXPECT_TRUE(*shard_->Delete(ShardEpoch(1), "b"));
  EXPECT_FALSE(*shard_->Delete(ShardEpoch(1), "b"));
  RowTotal wanted;
  wanted.Add("a", "3");
  EXPECT_EQ(shard_->State()->total, wanted);
  EXPECT_EQ(*shard_->Recount(), wanted);
  EXPECT_EQ(Open()->State()->total, wanted);  // and survives
}

TEST_F(LocalShardTest, ScansARange) {
  for (const char* key : {"c", "a", "b"}) Put(key, "1");
  const auto page = shard_->Scan({.start = "a", .end = "c", .max_rows = 1});
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->rows.size(), 1u);
  EXPECT_EQ(page->rows[0].key, "a");
  EXPECT_EQ(page->rows[0].value, "1");
  EXPECT_TRUE(page->more);
}

TEST_F(LocalShardTest, RowsComeInKeyOrderInBatchesThatResume) {
  for (int i = 0; i < 10; ++i) Put(absl::StrCat("k", i), std::string(100, 'v'));
  std::optional<std::string> after;
  std::string keys;
  for (bool done = false; !done;) {
    auto batch = shard_->ReadRows(after, 300);
    ASSERT_TRUE(batch.ok());
    EXPECT_LE(batch->rows.size(), 3u);
    for (const TransferRow& row : batch->rows) keys += row.key;
    after = batch->rows.back().key;
    done = batch->done;
  }
  EXPECT_EQ(keys, "k0k1k2k3k4k5k6k7k8k9");
}

TEST_F(LocalShardTest, ChangesHaveEachKeyOnceWithItsValueOfNow) {
  Put("a", "1");
  Put("b", "1");
  Put("a", "2");
  ASSERT_TRUE(shard_->Delete(ShardEpoch(1), "b").ok());
  auto changes = shard_->ReadChanges(1, kMegabyte);
  ASSERT_TRUE(changes.ok());
  ASSERT_EQ(changes->rows.size(), 2u);
  EXPECT_EQ(changes->rows[0].key, "b");
  EXPECT_EQ(changes->rows[0].value, std::nullopt);
  EXPECT_THAT(changes->rows[1].value, Optional(std::string("2")));
  EXPECT_EQ(changes->last_sequence, 4u);
  EXPECT_TRUE(changes->at_end);
  EXPECT_EQ(changes->total, shard_->State()->total);
}

TEST_F(LocalShardTest, FeedBehindWhatIsKeptIsOutOfRange) {
  Put("a", "1");
  ASSERT_TRUE(shard_->Write({.sequence = 7, .record = "r"}).ok());
  EXPECT_EQ(shard_->State()->first_sequence, 8u);
  EXPECT_EQ(shard_->State()->last_sequence, 7u);
  EXPECT_TRUE(absl::IsOutOfRange(shard_->ReadChanges(3, kMegabyte).status()));
  EXPECT_TRUE(absl::IsOutOfRange(shard_->ReadChanges(8, kMegabyte).status()));
  EXPECT_TRUE(shard_->ReadChanges(7, kMegabyte)->at_end);
}

TEST_F(LocalShardTest, WriteIsOneTransactionAndSurvives) {
  Put("old", "1");
  TransferWrite write;
  write.clear = true;
  write.rows = {{"a", "1"}, {"b", std::nullopt}};
  write.sequence = 40;
  write.fence = ShardEpoch(9);
  write.record = "record";
  write.durable = true;
  ASSERT_TRUE(shard_->Write(write).ok());
  shard_ = Open();
  EXPECT_EQ(shard_->State()->record, "record");
  EXPECT_EQ(shard_->State()->total.count, 1u);
  EXPECT_EQ(*shard_->Get("old"), std::nullopt);
  EXPECT_TRUE(absl::IsAborted(shard_->Put(ShardEpoch(8), "a", "2")));
  EXPECT_TRUE(shard_->Put(ShardEpoch(9), "a", "2").ok());
  EXPECT_EQ(shard_->State()->last_sequence, 41u);
}

}  // namespace
}  // namespace kvstore
