#include "coordination/zookeeper/private_zookeeper.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "coordination/zookeeper/zookeeper_store.h"

namespace shardmanager {
namespace {

using std::chrono_literals::operator""s;

class PrivateZookeeperTest : public testing::Test {
 protected:
  PrivateZookeeperTest() {
    std::string pattern = testing::TempDir() + "/zookeeper.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~PrivateZookeeperTest() override { std::filesystem::remove_all(folder_); }

  PrivateZookeeperOptions Options() const {
    return {.data_dir = folder_ + "/data", .force_sync = false};
  }

  std::string folder_;
};

absl::Status Write(CoordinationStore& store, std::vector<WriteOp> ops) {
  std::promise<absl::Status> done;
  store.Multi(std::move(ops), [&](WriteResult result) { done.set_value(result.status); });
  return done.get_future().get();
}

absl::StatusOr<Node> Read(CoordinationStore& store, const std::string& path) {
  std::promise<absl::StatusOr<Node>> done;
  store.Get(path, [&](absl::StatusOr<Node> node) { done.set_value(std::move(node)); });
  return done.get_future().get();
}

std::vector<EnsembleMember> FreeMembers(int count) {
  std::vector<EnsembleMember> members;
  for (int i = 0; i < count; ++i) {
    members.push_back(
        {.client_port = FreePort(), .follower_port = FreePort(), .election_port = FreePort()});
  }
  return members;
}

using Ensemble = std::vector<std::unique_ptr<PrivateZookeeper>>;

// Waits until one of them leads and all others follow; the end: it does not happen.
Ensemble::iterator AwaitLeader(Ensemble& ensemble) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < deadline) {
    auto leader = ensemble.end();
    size_t followers = 0;
    for (auto it = ensemble.begin(); it != ensemble.end(); ++it) {
      const std::string mode = (*it)->Mode();
      if (mode == "leader") leader = it;
      if (mode == "follower") ++followers;
    }
    if (leader != ensemble.end() && followers + 1 == ensemble.size()) return leader;
  }
  return ensemble.end();
}

TEST_F(PrivateZookeeperTest, AnEnsembleServesOnWithoutItsLeader) {
  Ensemble ensemble;
  PrivateZookeeperOptions options{.force_sync = false, .ensemble = FreeMembers(3)};
  for (options.self = 0; options.self < 3; ++options.self) {
    options.data_dir = folder_ + "/data-" + std::to_string(options.self);
    auto member = PrivateZookeeper::Start(options);
    ASSERT_TRUE(member.ok()) << member.status();
    ensemble.push_back(*std::move(member));
  }
  const auto leader = AwaitLeader(ensemble);
  ASSERT_NE(leader, ensemble.end());
  const auto session = ZookeeperStoreFactory((*leader)->connect_string()).NewSession({});
  ASSERT_TRUE(Write(*session, {CreateNode{"/a", "one"}}).ok());
  session->Close();

  (*leader)->Kill();
  ensemble.erase(leader);
  ASSERT_NE(AwaitLeader(ensemble), ensemble.end());
  for (const auto& member : ensemble) {
    const auto later = ZookeeperStoreFactory(member->connect_string()).NewSession({});
    EXPECT_EQ(Read(*later, "/a")->data, "one");
    later->Close();
  }
}

TEST_F(PrivateZookeeperTest, ServesAndKeepsItsDataOverKillAndRestart) {
  auto zookeeper = PrivateZookeeper::Start(Options());
  ASSERT_TRUE(zookeeper.ok()) << zookeeper.status();
  const int port = (*zookeeper)->port();
  ZookeeperStoreFactory factory((*zookeeper)->connect_string());
  auto session = factory.NewSession({.timeout = 10s});
  ASSERT_TRUE(Write(*session, {CreateNode{"/a", "one"}}).ok());

  (*zookeeper)->Kill();
  ASSERT_TRUE((*zookeeper)->Restart().ok());
  EXPECT_EQ((*zookeeper)->port(), port);
  const auto node = Read(*factory.NewSession({}), "/a");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->data, "one");
}

TEST_F(PrivateZookeeperTest, PausedItIsSilentAndResumedItAnswers) {
  auto zookeeper = PrivateZookeeper::Start(Options());
  ASSERT_TRUE(zookeeper.ok()) << zookeeper.status();
  ZookeeperStoreFactory factory((*zookeeper)->connect_string());
  auto session = factory.NewSession({.timeout = 30s});
  ASSERT_TRUE(Read(*session, "/zookeeper").ok());

  (*zookeeper)->Pause();
  std::promise<absl::Status> answer;
  session->Get("/zookeeper", [&](absl::StatusOr<Node> n) { answer.set_value(n.status()); });
  auto answered = answer.get_future();
  EXPECT_EQ(answered.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  (*zookeeper)->Resume();
  EXPECT_TRUE(answered.get().ok());
}

TEST_F(PrivateZookeeperTest, RefusesPortOfAnotherServerAndSaysSo) {
  auto first = PrivateZookeeper::Start(Options());
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = PrivateZookeeper::Start(
      {.data_dir = folder_ + "/other", .port = (*first)->port(), .force_sync = false});
  ASSERT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(second.status().message().find(std::to_string((*first)->port())), std::string::npos);
}

TEST_F(PrivateZookeeperTest, ShowsTheEndOfTheLogWhenItDoesNotStart) {
  // A socket that holds the port but does not listen.
  const int holder = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(holder, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size), 0);
  auto options = Options();
  options.port = ntohs(address.sin_port);
  auto zookeeper = PrivateZookeeper::Start(options);
  ASSERT_EQ(zookeeper.status().code(), absl::StatusCode::kUnavailable) << zookeeper.status();
  EXPECT_NE(zookeeper.status().message().find("Address already in use"), std::string::npos)
      << zookeeper.status();
  close(holder);
}

TEST_F(PrivateZookeeperTest, NamesJavaWhenItIsMissing) {
  const std::string path = getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  auto zookeeper = PrivateZookeeper::Start(Options());
  setenv("PATH", path.c_str(), 1);
  ASSERT_EQ(zookeeper.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(zookeeper.status().message().find("java"), std::string::npos);
}

TEST_F(PrivateZookeeperTest, TriesOtherPortsUnlessItWasGivenOne) {
  // In place of a ZooKeeper that finds its port taken: writes a byte and ends.
  const std::string java = folder_ + "/java";
  std::ofstream(java) << "#!/bin/sh\necho >> \"$0.starts\"\nexit 1\n";
  std::filesystem::permissions(java, std::filesystem::perms::owner_all);
  const auto starts = [&] { return std::filesystem::file_size(java + ".starts"); };
  const std::string path = getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  auto options = Options();
  EXPECT_TRUE(absl::IsUnavailable(PrivateZookeeper::Start(options).status()));
  const auto tries = starts();
  EXPECT_GT(tries, 1u);
  options.port = FreePort();
  EXPECT_TRUE(absl::IsUnavailable(PrivateZookeeper::Start(options).status()));
  EXPECT_EQ(starts(), tries + 1);
  setenv("PATH", path.c_str(), 1);
}

// The helper process that this test kills without warning.
[[noreturn]] void StartZookeeperAndTellItsPid(PrivateZookeeperOptions options, int pipe) {
  auto zookeeper = PrivateZookeeper::Start(std::move(options));
  const pid_t pid = zookeeper.ok() ? (*zookeeper)->pid() : -1;
  if (write(pipe, &pid, sizeof pid) != sizeof pid) _exit(1);
  while (true) pause();
}

TEST_F(PrivateZookeeperTest, IsGoneAfterItsParentWasKilled) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  // An orphan then becomes our child, so that its end can be awaited.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = fork();
  if (parent == 0) StartZookeeperAndTellItsPid(Options(), pipe_ends[1]);
  pid_t zookeeper = -1;
  ASSERT_EQ(read(pipe_ends[0], &zookeeper, sizeof zookeeper), ssize_t{sizeof zookeeper});
  ASSERT_GT(zookeeper, 0);
  ASSERT_EQ(kill(zookeeper, 0), 0);

  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  int status = 0;
  ASSERT_EQ(waitpid(zookeeper, &status, 0), zookeeper);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace
}  // namespace shardmanager
