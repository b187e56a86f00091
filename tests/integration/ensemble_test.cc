// A ZooKeeper ensemble of three, in a network that can be cut.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "runtime/clock.h"
#include "tests/integration/chaos/client_load.h"
#include "tests/integration/chaos/shard_files.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using local::Network;

constexpr int kShards = 12;
constexpr char kServer[] = "kv-1";  // the one whose ZooKeeper is cut off
constexpr char kOther[] = "kv-2";

class EnsembleTest : public ClusterTest {
 protected:
  void SetUp() override {
    auto network = Network::Make();
    if (absl::IsFailedPrecondition(network.status())) {
      GTEST_SKIP() << "this machine forbids network namespaces: " << network.status();
    }
    SM_ASSERT_OK(network.status());
    network_ = *std::move(network);
    SM_ASSERT_OK(network_->Enter(Network::kClients));
    // A follower does not notice before the sessions of its clients are over that its
    // leader is away: it answers reads all the time.
    local::ClusterOptions options{.zookeepers = 3, .network = network_.get()};
    options.sync_limit_ticks = 3 * options.session_timeout_ms / options.zookeeper_tick_ms;
    auto cluster = local::Cluster::Make(options);
    SM_ASSERT_OK(cluster.status());
    cluster_ = *std::move(cluster);
  }

  void TearDown() override {
    ClusterTest::TearDown();
    cluster_.reset();  // before its network
  }

  // The control plane and kv-2 at ZooKeeper's leader, kv-1 at a follower.
  void Serve() {
    SM_ASSERT_OK(cluster_->StartZookeeper());
    const std::optional<size_t> leader = cluster_->zookeepers().Leader();
    ASSERT_TRUE(leader.has_value());
    follower_ = (*leader + 1) % cluster_->zookeepers().size();
    const std::string at_leader = cluster_->zookeepers().connect_string(*leader);
    SM_ASSERT_OK(cluster_->StartManager(0, at_leader));
    SM_ASSERT_OK(cluster_->StartDiscovery());
    SM_ASSERT_OK(
        cluster_->StartServer({.name = kServer,
                               .machine = "host-1",
                               .zookeeper = cluster_->zookeepers().connect_string(follower_)}));
    SM_ASSERT_OK(
        cluster_->StartServer({.name = kOther, .machine = "host-2", .zookeeper = at_leader}));
    SM_ASSERT_OK(ServeShards(kShards));
    direct_ = cluster_->WatchMap(cluster_->admin_endpoint());
    AwaitBalance();
  }

  void AwaitBalance() {
    EXPECT_TRUE(direct_->WaitFor(
        [](const MapView& v) { return v.all_served() && v.counts()[kServer] == kShards / 2; },
        kPatience))
        << direct_->view().Describe();
  }

  void CutFollower() {
    std::set<std::string> others;
    for (size_t i = 0; i < cluster_->zookeepers().size(); ++i) {
      if (i != follower_) others.insert(absl::StrCat("zookeeper-", i + 1));
    }
    network_->SetLinks({absl::StrCat("zookeeper-", follower_ + 1)}, others, {.cut = true});
  }

  std::unique_ptr<Network> network_;
  std::unique_ptr<local::MapWatcher> direct_;
  size_t follower_ = 0;
};

Micros ToMicros(TimePoint time) { return time.time_since_epoch().count(); }

// How many calls that began then kv-1 answered.
size_t AnswersBetween(const std::vector<Operation>& history, TimePoint from, TimePoint to) {
  return static_cast<size_t>(std::count_if(history.begin(), history.end(), [&](const auto& op) {
    return op.outcome == Outcome::kOk && op.server == kServer && op.invoked > ToMicros(from) &&
           op.invoked < ToMicros(to);
  }));
}

TEST_F(EnsembleTest, F5_ServerAtACutOffFollowerStopsAdmittingBeforeItsShardsAreGrantedElsewhere) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  // Its clients hear of no other owner: they go on asking it.
  cluster_->discovery().Pause();
  ClientLoad load({client_.get()}, {.shards = kShards, .threads = 8, .calls_per_second = 800});

  const TimePoint cut = MonotonicNow();
  CutFollower();
  const auto lost = events_->WaitFor("ServerLost", kServer, cut, kPatience);
  ASSERT_TRUE(lost.has_value());
  // The danger is real: its ZooKeeper answers as if nothing was.
  EXPECT_EQ(cluster_->zookeepers().member(follower_).Mode(), "follower");
  MapView taken;
  ASSERT_TRUE(direct_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts()[kOther] == kShards; }, kPatience,
      &taken))
      << direct_->view().Describe();

  network_->Heal();
  const TimePoint healed = MonotonicNow();
  cluster_->discovery().Resume();
  ASSERT_TRUE(events_->WaitFor("ServerJoined", kServer, healed, kPatience));
  AwaitBalance();
  size_t unread = 0;
  const std::vector<Operation> history = load.Finish(&unread);
  EXPECT_EQ(unread, 0u);

  EXPECT_GT(AnswersBetween(history, cut, lost->seen), 0u) << "the load did not ask it";
  EXPECT_EQ(AnswersBetween(history, lost->seen, healed), 0u) << "it served without a right";
  for (const std::string& name : cluster_->server_names()) cluster_->server(name).Kill();
  const auto audit = ReadAudit(cluster_->data_folder());
  SM_ASSERT_OK(audit.status());
  for (const AuditRow& row : *audit) EXPECT_TRUE(row.accepted) << row.server << ", " << row.shard;
  EXPECT_EQ(CheckAudit(*audit), std::nullopt);
  EXPECT_EQ(CheckCommits(history, *audit), std::nullopt);
  EXPECT_EQ(CheckTokens(history), std::nullopt);
  EXPECT_EQ(CheckRegisters(history), std::nullopt);
}

}  // namespace
}  // namespace shardmanager::testing
