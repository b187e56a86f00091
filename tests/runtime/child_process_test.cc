#include "runtime/child_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace shardmanager {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{20'000};

ChildProcess MustStart(ChildOptions options) {
  auto child = ChildProcess::Start(options);
  EXPECT_TRUE(child.ok()) << child.status();
  return std::move(*child);
}

// Waits for the end of a process that need not be our child.
bool EndsWithin(pid_t pid, milliseconds timeout) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) return true;  // gone and forgotten
  pollfd event{handle, POLLIN, 0};
  const bool ended = poll(&event, 1, static_cast<int>(timeout.count())) == 1;
  close(handle);
  return ended;
}

TEST(ChildProcessTest, ReportsTheExitCode) {
  ChildProcess child = MustStart({.argv = {"sh", "-c", "exit 7"}});
  EXPECT_EQ(child.Wait(kLong), 7);
  EXPECT_EQ(child.Wait(kLong), 7) << "asking again gives the same answer";
  EXPECT_FALSE(child.running());
}

TEST(ChildProcessTest, ReportsTheSignalThatEndedIt) {
  ChildProcess child = MustStart({.argv = {"sleep", "1000"}});
  EXPECT_TRUE(child.running());
  child.Signal(SIGKILL);
  EXPECT_EQ(child.Wait(kLong), 128 + SIGKILL);
}

TEST(ChildProcessTest, WaitGivesUpAfterItsTime) {
  ChildProcess child = MustStart({.argv = {"sleep", "1000"}});
  EXPECT_EQ(child.Wait(milliseconds(10)), std::nullopt);
  EXPECT_TRUE(child.running());
}

TEST(ChildProcessTest, StopAsksFirst) {
  ChildProcess child = MustStart({.argv = {"sleep", "1000"}});
  EXPECT_EQ(child.Stop(kLong), 128 + SIGTERM);
}

TEST(ChildProcessTest, StopKillsWhoDoesNotListen) {
  // "ready" comes after the trap is set; the pipe is the event to wait for.
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  ChildProcess child = MustStart(
      {.argv = {"sh", "-c",
                "trap '' TERM; echo ready >&" + std::to_string(ready[1]) + "; exec sleep 1000"}});
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(child.Stop(milliseconds(20)), 128 + SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST(ChildProcessTest, AProgramThatCannotBeExecutedIsNotFound) {
  const auto child = ChildProcess::Start({.argv = {"/nonexistent/program"}});
  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(child.status().message().find("/nonexistent/program"), std::string::npos);
}

TEST(ChildProcessTest, DiesWhenDestroyed) {
  pid_t pid;
  {
    ChildProcess child = MustStart({.argv = {"sleep", "1000"}});
    pid = child.pid();
  }
  EXPECT_TRUE(EndsWithin(pid, kLong));
}

TEST(ChildProcessTest, LivesOnInWhatItWasMovedTo) {
  ChildProcess child;
  {
    ChildProcess first = MustStart({.argv = {"sleep", "1000"}});
    child = std::move(first);
  }
  EXPECT_TRUE(child.running());
}

TEST(ChildProcessTest, DiesWithAParentThatIsKilled) {
  int pids[2];
  ASSERT_EQ(pipe(pids), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    auto child = ChildProcess::Start({.argv = {"sleep", "1000"}});
    const pid_t pid = child.ok() ? child->pid() : -1;
    if (write(pids[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    while (true) pause();
  }
  pid_t grandchild = -1;
  ASSERT_EQ(read(pids[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  ASSERT_GT(grandchild, 0);
  EXPECT_FALSE(EndsWithin(grandchild, milliseconds(20)));
  kill(parent, SIGKILL);
  EXPECT_TRUE(EndsWithin(grandchild, kLong));
  waitpid(parent, nullptr, 0);
  close(pids[0]);
  close(pids[1]);
}

TEST(ChildProcessTest, WritesItsOutputToTheLogFileAndSeesItsEnvironment) {
  const auto log = std::filesystem::path(testing::TempDir()) /
                   ("child_process_test." + std::to_string(getpid()) + ".log");
  std::filesystem::remove(log);
  for (const char* word : {"one", "two"}) {
    ChildProcess child = MustStart({.argv = {"sh", "-c", "echo $SM_TEST_WORD; echo err >&2"},
                                    .environment = {std::string("SM_TEST_WORD=") + word},
                                    .log_file = log.string()});
    EXPECT_EQ(child.Wait(kLong), 0);
  }
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  EXPECT_EQ(text.str(), "one\nerr\ntwo\nerr\n");
  std::filesystem::remove(log);
}

TEST(FreePortTest, GivesPortsThatCanBeUsed) {
  const int port = FreePort();
  EXPECT_GT(port, 1'023);
  EXPECT_LT(port, 65'536);
}

}  // namespace
}  // namespace shardmanager
