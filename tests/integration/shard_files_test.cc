#include "tests/integration/chaos/shard_files.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "shard_db.h"

namespace shardmanager::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ShardFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "shard_files_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<kvstore::ShardDb> Open(const std::string& shard, const std::string& server) {
    auto db = kvstore::ShardDb::Open(folder_ + "/" + shard + ".db", server);
    EXPECT_TRUE(db.ok()) << db.status();
    return db.ok() ? *std::move(db) : nullptr;
  }

  std::string folder_;
};

TEST_F(ShardFilesTest, ReadsTheAuditOfEveryShard) {
  ASSERT_TRUE(Open("shard-1", "a")->Put(ShardEpoch(7), "k", "v").ok());
  ASSERT_TRUE(Open("shard-2", "b")->Fence(ShardEpoch(8)).ok());
  ASSERT_FALSE(Open("shard-2", "a")->Fence(ShardEpoch(7)).ok());
  const auto audit = ReadAudit(folder_);
  ASSERT_TRUE(audit.ok()) << audit.status();
  std::vector<std::string> rows;
  for (const AuditRow& row : *audit) {
    rows.push_back(row.shard + " " + row.server + " " + row.what + " " + row.key +
                   (row.accepted ? "+" : "-") + std::to_string(row.epoch));
  }
  EXPECT_THAT(rows, ::testing::UnorderedElementsAre("shard-1 a put k+7", "shard-2 b open +8",
                                                    "shard-2 a open -7"));
}

TEST_F(ShardFilesTest, FindsTheShardsThatAProcessHoldsLocked) {
  for (const char* shard : {"shard-03", "shard-04"}) Open(shard, "a");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto locked = kvstore::OpenDatabase(folder_ + "/shard-04.db");
    const bool ok = kvstore::Execute(locked->get(), "BEGIN IMMEDIATE").ok();
    auto open = kvstore::OpenDatabase(folder_ + "/shard-03.db");
    const bool read = kvstore::Execute(open->get(), "SELECT * FROM kv").ok();
    [[maybe_unused]] ssize_t n = write(ready[1], ok && read ? "y" : "n", 1);
    pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  kill(child, SIGSTOP);
  EXPECT_THAT(ShardsLockedBy(child, folder_), ElementsAre(4));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(ShardsLockedBy(child, folder_), IsEmpty());
}

}  // namespace
}  // namespace shardmanager::testing
