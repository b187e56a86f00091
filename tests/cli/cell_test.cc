// `shardctl cell credentials`: files, without ZooKeeper. (With it: tests/integration.)
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "coordination/access/credentials.h"
#include "gmock/gmock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CellTest : public ShardctlTest {
 protected:
  CellTest() {
    std::string pattern = testing::TempDir() + "/cell.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~CellTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  ExitCode Make(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"cell", "credentials"});
    return Run(arguments);
  }
  Credentials Read(const std::string& name) {
    const auto credentials = ReadCredentials(File(name));
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return credentials.value_or(Credentials());
  }

  std::string folder_;
};

TEST_F(CellTest, MakesTheFilesOfAllParties) {
  ASSERT_EQ(Make({"cell", "prod", "--out", File("cell")}), kOk) << err_;
  EXPECT_EQ(out_, "ZooKeeper credentials of the control plane of cell prod are in " + File("cell") +
                      ".\n");
  ASSERT_EQ(Make({"app", "kv", "--from", File("cell"), "--out", File("app")}), kOk) << err_;
  ASSERT_EQ(Make({"server", "kv", "kv-1", "--from", File("cell"), "--out", File("server")}), kOk)
      << err_;
  const Credentials cell = Read("cell");
  EXPECT_EQ(cell.cell, "prod");
  EXPECT_EQ(Read("app"), AppCredentials(cell, AppName("kv")));
  EXPECT_EQ(Read("server"), ServerCredentials(cell, AppName("kv"), ServerName("kv-1")));
  EXPECT_EQ(admin_.requests().size(), 0u);
}

TEST_F(CellTest, AFileThatIsThereStays) {
  ASSERT_EQ(Make({"cell", "prod", "--out", File("cell")}), kOk);
  const Credentials before = Read("cell");
  EXPECT_EQ(Make({"cell", "prod", "--out", File("cell")}), kRefused);
  EXPECT_THAT(err_, AllOf(HasSubstr(File("cell")), HasSubstr("exists")));
  EXPECT_EQ(Read("cell"), before);
}

TEST_F(CellTest, ReplacesASecret) {
  ASSERT_EQ(Make({"cell", "prod", "--out", File("old")}), kOk);
  ASSERT_EQ(Make({"cell", "prod", "--replace", File("old"), "--out", File("both")}), kOk);
  ASSERT_EQ(Make({"cell", "prod", "--only-newest-of", File("both"), "--out", File("new")}), kOk);
  const Credentials both = Read("both");
  ASSERT_EQ(both.secrets.size(), 2u);
  EXPECT_EQ(both.secrets[1], Read("old").secrets[0]);
  EXPECT_EQ(Read("new").secrets, std::vector<CredentialSecret>{both.secrets[0]});
  // The newest and a newer one; nobody uses the oldest any more.
  ASSERT_EQ(Make({"cell", "prod", "--replace", File("both"), "--out", File("next")}), kOk);
  EXPECT_EQ(Read("next").secrets[1], both.secrets[0]);
}

TEST_F(CellTest, SaysWhatIsWrong) {
  ASSERT_EQ(Make({"cell", "prod", "--out", File("cell")}), kOk);
  ASSERT_EQ(Make({"server", "kv", "kv-1", "--from", File("cell"), "--out", File("server")}), kOk);
  EXPECT_EQ(Make({"server", "kv", "kv/1", "--from", File("cell"), "--out", File("x")}), kUsage);
  EXPECT_THAT(err_, HasSubstr("server: found another value; allowed: 1 to 127 of [A-Za-z0-9._-]"));
  EXPECT_EQ(Make({"app", "kv", "--from", File("server"), "--out", File("x")}), kUsage);
  EXPECT_THAT(err_, HasSubstr("found ZooKeeper credentials of server kv-1 of app kv, cell prod"));
  EXPECT_EQ(Make({"app", "kv", "--from", File("none"), "--out", File("x")}), kRefused);
  EXPECT_THAT(err_, HasSubstr(File("none")));
  EXPECT_EQ(Make({"cell", "other", "--replace", File("cell"), "--out", File("x")}), kUsage);
  EXPECT_THAT(err_, HasSubstr("found credentials of cell \"prod\"; allowed: those of \"other\""));
  chmod(File("cell").c_str(), 0644);
  EXPECT_EQ(Make({"app", "kv", "--from", File("cell"), "--out", File("x")}), kRefused);
  EXPECT_THAT(err_, HasSubstr("found mode 0644; allowed: 0600 or 0400"));
  EXPECT_FALSE(std::filesystem::exists(File("x")));
}

TEST_F(CellTest, SaysThatZookeeperDoesNotAnswer) {
  ASSERT_EQ(Make({"cell", "prod", "--out", File("cell")}), kOk);
  EXPECT_EQ(RunAsIs({"--timeout", "100ms", "cell", "status", "--from", File("cell"), "--zookeeper",
                     "127.0.0.1:1"}),
            kUnreachable);
  EXPECT_THAT(err_, HasSubstr("ZooKeeper at 127.0.0.1:1 does not answer"));
}

}  // namespace
}  // namespace shardmanager::cli
