#include "tests/local_cluster/program.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shardmanager::local {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kPatience{10};

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "program_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Program Shell(const std::string& script) { return Program("sh", {"sh", "-c", script}, folder_); }

  std::string folder_;
};

TEST_F(ProgramTest, KeepsTheOutputOfAllLivesInOneLog) {
  Program program = Shell("echo out; echo err >&2; exit 3");
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(program.Start().ok());
    EXPECT_EQ(program.Wait(kPatience), 3);
  }
  EXPECT_EQ(program.Log(), "out\nerr\nout\nerr\n");
}

TEST_F(ProgramTest, LogTailShowsTheLastLines) {
  Program program = Shell("seq 1 9");
  ASSERT_TRUE(program.Start().ok());
  ASSERT_EQ(program.Wait(kPatience), 0);
  EXPECT_THAT(program.LogTail(2), AllOf(EndsWith("\n8\n9\n\n"), Not(HasSubstr("\n7\n"))));
  EXPECT_THAT(program.LogTail(100), HasSubstr("1\n2\n"));
}

TEST_F(ProgramTest, KillEndsAlsoAPausedProgram) {
  Program program = Shell("exec sleep 1000");
  ASSERT_TRUE(program.Start().ok());
  program.Pause();
  EXPECT_TRUE(program.running());
  program.Kill();
  EXPECT_FALSE(program.running());
}

TEST_F(ProgramTest, StopAsksPolitelyAndGivesTheExitCode) {
  Program program = Shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(program.Start().ok());
  while (program.Log().empty() && program.running()) {
  }
  EXPECT_EQ(program.Stop(), 7);
}

TEST_F(ProgramTest, RemembersALifeThatEndedByItself) {
  Program program = Shell("exec sleep 1000");
  ASSERT_TRUE(program.Start().ok());
  EXPECT_EQ(program.unasked_end(), std::nullopt) << "it lives";
  program.Kill();
  ASSERT_TRUE(program.Start().ok());
  EXPECT_EQ(program.unasked_end(), std::nullopt) << "it was killed";
  kill(program.pid(), SIGSEGV);
  while (program.running()) {
  }
  ASSERT_TRUE(program.Start().ok());
  EXPECT_EQ(program.unasked_end(), 128 + SIGSEGV);
  program.Kill();
  EXPECT_EQ(program.unasked_end(), 128 + SIGSEGV);
}

TEST_F(ProgramTest, AnEndThatWasWaitedForIsNoSurprise) {
  Program program = Shell("exit 1");
  ASSERT_TRUE(program.Start().ok());
  EXPECT_EQ(program.Wait(kPatience), 1);
  EXPECT_EQ(program.unasked_end(), std::nullopt);
}

TEST_F(ProgramTest, SaysWhenThereIsNoSuchProgram) {
  Program program("none", {folder_ + "/none"}, folder_);
  EXPECT_EQ(program.Start().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace shardmanager::local
