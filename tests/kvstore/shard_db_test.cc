#include "shard_db.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kvstore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

struct AuditRow {
  int64_t epoch;
  std::string server;
  std::string what;
  bool accepted;
  bool operator==(const AuditRow&) const = default;
};

class ShardDbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "shard_db_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/s.db"; }

  std::unique_ptr<ShardDb> Open(const std::string& server) {
    auto db = ShardDb::Open(path(), server);
    EXPECT_TRUE(db.ok()) << db.status();
    return db.ok() ? *std::move(db) : nullptr;
  }

  std::vector<AuditRow> Audit() {
    auto db = OpenDatabase(path());
    auto rows = Statement::Prepare(db->get(),
                                   "SELECT epoch, server, what, accepted FROM audit ORDER BY seq");
    std::vector<AuditRow> audit;
    while (rows->Step()) {
      audit.push_back({rows->Integer(0), rows->Bytes(1), rows->Bytes(2), rows->Integer(3) != 0});
    }
    return audit;
  }

  std::string folder_;
};

TEST_F(ShardDbTest, ReadsBackWhatWasPut) {
  auto db = Open("a");
  ASSERT_TRUE(db->Put(ShardEpoch(1), "k", "v1").ok());
  ASSERT_TRUE(db->Put(ShardEpoch(1), "k", "v2").ok());
  EXPECT_THAT(*db->Get("k"), Optional(std::string("v2")));
  EXPECT_EQ(*db->Get("other"), std::nullopt);
}

TEST_F(ShardDbTest, KeysAndValuesMayHoldAnyBytes) {
  auto db = Open("a");
  const std::string key("\0\xff'", 3);
  ASSERT_TRUE(db->Put(ShardEpoch(1), key, "").ok());
  ASSERT_TRUE(db->Put(ShardEpoch(1), "", key).ok());
  EXPECT_THAT(*db->Get(key), Optional(std::string()));
  EXPECT_THAT(*db->Get(""), Optional(key));
}

// "a=1 b=2 more".
std::string Text(const absl::StatusOr<KvShard::Page>& page) {
  if (!page.ok()) return page.status().ToString();
  std::string text;
  for (const KvShard::Row& row : page->rows) absl::StrAppend(&text, row.key, "=", row.value, " ");
  return text + (page->more ? "more" : "");
}

TEST_F(ShardDbTest, ScansARangeInKeyOrderAndSaysWhetherThereIsMore) {
  auto db = Open("a");
  for (const char* key : {"c", "a", "b", "d"}) ASSERT_TRUE(db->Put(ShardEpoch(1), key, "1").ok());
  EXPECT_EQ(Text(db->Scan({})), "a=1 b=1 c=1 d=1 ");
  EXPECT_EQ(Text(db->Scan({.start = "b", .end = "d"})), "b=1 c=1 ");
  EXPECT_EQ(Text(db->Scan({.start = "aa", .end = "b"})), "");
  EXPECT_EQ(Text(db->Scan({.max_rows = 2})), "a=1 b=1 more");
  EXPECT_EQ(Text(db->Scan({.end = "c", .max_rows = 2})), "a=1 b=1 ");
  EXPECT_EQ(Text(db->Scan({.max_bytes = 3})), "a=1 b=1 more");
}

TEST_F(ShardDbTest, DeleteSaysWhetherTheKeyWasThere) {
  auto db = Open("a");
  ASSERT_TRUE(db->Put(ShardEpoch(1), "k", "v").ok());
  EXPECT_TRUE(*db->Delete(ShardEpoch(1), "k"));
  EXPECT_FALSE(*db->Delete(ShardEpoch(1), "k"));
  EXPECT_EQ(*db->Get("k"), std::nullopt);
}

TEST_F(ShardDbTest, RefusesAnOlderTokenAndChangesNothing) {
  auto old_owner = Open("old");
  auto new_owner = Open("new");
  ASSERT_TRUE(old_owner->Put(ShardEpoch(5), "k", "before").ok());
  ASSERT_TRUE(new_owner->Put(ShardEpoch(6), "k", "after").ok());

  const absl::Status put = old_owner->Put(ShardEpoch(5), "k", "too late");
  EXPECT_EQ(put.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(put.message()), HasSubstr("token 5"));
  EXPECT_EQ(old_owner->Delete(ShardEpoch(5), "k").status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(*new_owner->Get("k"), Optional(std::string("after")));
}

TEST_F(ShardDbTest, OpeningUnderANewTokenFencesTheFormerOwner) {
  auto old_owner = Open("old");
  ASSERT_TRUE(old_owner->Fence(ShardEpoch(5)).ok());
  auto new_owner = Open("new");
  ASSERT_TRUE(new_owner->Fence(ShardEpoch(6)).ok());
  EXPECT_EQ(old_owner->Put(ShardEpoch(5), "k", "v").code(), absl::StatusCode::kAborted);
  EXPECT_EQ(old_owner->Fence(ShardEpoch(5)).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(*new_owner->Get("k"), std::nullopt);
}

// The parts of a shard have grants of their own, and begin in any order.
TEST_F(ShardDbTest, PartsOfASplitTakeTheirRowsInAnyOrderAndFenceTheOldShard) {
  const auto old = Open("kv-1");
  ASSERT_TRUE(old->Put(ShardEpoch(5), "a", "1").ok());
  ASSERT_TRUE(old->Put(ShardEpoch(5), "m", "2").ok());
  const auto part = [&](const std::string& name, const shardmanager::ShardOrigin& origin,
                        ShardEpoch epoch) {
    auto db = ShardDb::Open(folder_ + "/" + name + ".db", "kv-1");
    EXPECT_TRUE(db.ok()) << db.status();
    EXPECT_TRUE((*db)->TakeOver(*old, "s", origin, epoch).ok()) << name;
    return *std::move(db);
  };
  const auto high = part("high", {.start = "g", .end = ""}, ShardEpoch(8));
  const auto low = part("low", {.start = "", .end = "g"}, ShardEpoch(7));
  EXPECT_THAT(*low->Get("a"), Optional(std::string("1")));
  EXPECT_EQ(*low->Get("m"), std::nullopt);
  EXPECT_THAT(*high->Get("m"), Optional(std::string("2")));
  EXPECT_EQ(old->Put(ShardEpoch(5), "a", "late").code(), absl::StatusCode::kAborted);
}

TEST_F(ShardDbTest, AuditTellsWhoWroteUnderWhichTokenAndWhoWasRefused) {
  auto old_owner = Open("old");
  auto new_owner = Open("new");
  ASSERT_TRUE(old_owner->Fence(ShardEpoch(5)).ok());
  ASSERT_TRUE(old_owner->Put(ShardEpoch(5), "k", "v").ok());
  ASSERT_TRUE(new_owner->Fence(ShardEpoch(6)).ok());
  ASSERT_FALSE(old_owner->Put(ShardEpoch(5), "k", "v").ok());
  EXPECT_THAT(Audit(),
              ElementsAre(AuditRow{5, "old", "open", true}, AuditRow{5, "old", "put", true},
                          AuditRow{6, "new", "open", true}, AuditRow{5, "old", "put", false}));
}

TEST_F(ShardDbTest, AcknowledgedWriteSurvivesSigkill) {
  int acknowledged[2];
  ASSERT_EQ(pipe(acknowledged), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto db = ShardDb::Open(path(), "victim");
    const bool ok = db.ok() && (*db)->Put(ShardEpoch(1), "k", "v").ok();
    [[maybe_unused]] ssize_t n = write(acknowledged[1], ok ? "y" : "n", 1);
    pause();
  }
  char answer = 0;
  ASSERT_EQ(read(acknowledged[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(*Open("next")->Get("k"), Optional(std::string("v")));
}

// A former owner that was stopped inside a transaction holds the lock.
TEST_F(ShardDbTest, SaysUnavailableWhileAnotherHoldsTheLockAndWorksAfterwards) {
  auto db = Open("a");
  auto stuck = OpenDatabase(path());
  ASSERT_TRUE(Execute(stuck->get(), "BEGIN IMMEDIATE").ok());
  EXPECT_EQ(db->Fence(ShardEpoch(2)).code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(Execute(stuck->get(), "COMMIT").ok());
  EXPECT_TRUE(db->Fence(ShardEpoch(2)).ok());
}

TEST_F(ShardDbTest, OpenSaysWhyItCannot) {
  auto db = ShardDb::Open("/nowhere/s.db", "a");
  EXPECT_THAT(std::string(db.status().message()), HasSubstr("/nowhere/s.db"));
}

TEST_F(ShardDbTest, SaysHowManyRequestsASecondAndBytesItServes) {
  auto shard = Open("s-1");
  const std::chrono::steady_clock::time_point start{};
  EXPECT_EQ(shard->TakeLoad(start).requests_per_s, 0);
  ASSERT_TRUE(shard->Put(ShardEpoch(1), "k", std::string(100'000, 'v')).ok());
  ASSERT_TRUE(shard->Get("k").ok());
  ASSERT_TRUE(shard->Delete(ShardEpoch(1), "other").ok());
  const ShardDb::Load load = shard->TakeLoad(start + std::chrono::seconds(2));
  EXPECT_EQ(load.requests_per_s, 1.5);
  EXPECT_GE(load.bytes, 100'000);
  EXPECT_EQ(shard->TakeLoad(start + std::chrono::seconds(4)).requests_per_s, 0);
}

}  // namespace
}  // namespace kvstore
