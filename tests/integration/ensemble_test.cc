// A ZooKeeper ensemble of three, in a network that can be cut.
#include <algorithm>
#include <functional>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordination/zookeeper/zookeeper_store.h"
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
    // leader is away, nor a leader that its followers are: it answers reads all the time.
    local::ClusterOptions options{.zookeepers = 3, .network = network_.get()};
    options.sync_limit_ticks = 6 * options.session_timeout_ms / options.zookeeper_tick_ms;
    auto cluster = local::Cluster::Make(options);
    SM_ASSERT_OK(cluster.status());
    cluster_ = *std::move(cluster);
  }

  void TearDown() override {
    ClusterTest::TearDown();
    cluster_.reset();  // before its network
  }

  void StartZookeepers() {
    SM_ASSERT_OK(cluster_->StartZookeeper());
    const std::optional<size_t> leader = zookeepers().Leader();
    ASSERT_TRUE(leader.has_value());
    leader_ = *leader;
    follower_ = (leader_ + 1) % zookeepers().size();
  }

  // kv-1 at this ZooKeeper, the control plane and kv-2 at others.
  void Serve(size_t member, const std::string& others) {
    server_at_ = member;
    SM_ASSERT_OK(cluster_->StartManager(0, others));
    SM_ASSERT_OK(cluster_->StartDiscovery());
    SM_ASSERT_OK(cluster_->StartServer(
        {.name = kServer, .machine = "host-1", .zookeeper = zookeepers().connect_string(member)}));
    SM_ASSERT_OK(cluster_->StartServer({.name = kOther, .machine = "host-2", .zookeeper = others}));
    SM_ASSERT_OK(ServeShards(kShards));
    direct_ = cluster_->WatchMap(cluster_->admin_endpoint());
    AwaitBalance();
  }

  void LosesItsShardsInTime(const std::function<void()>& fault);

  void AwaitBalance() {
    EXPECT_TRUE(direct_->WaitFor(
        [](const MapView& v) { return v.all_served() && v.counts()[kServer] == kShards / 2; },
        kPatience))
        << direct_->view().Describe();
  }

  // From the other ZooKeepers.
  void CutOff(size_t member) {
    std::set<std::string> others;
    for (size_t i = 0; i < zookeepers().size(); ++i) {
      if (i != member) others.insert(Machine(i));
    }
    network_->SetLinks({Machine(member)}, others, {.cut = true});
  }

  // The followers elect another leader, and the old one knows nothing of it.
  void Depose() {
    CutOff(leader_);
    for (size_t i = 0; i < zookeepers().size(); ++i) {
      if (i != leader_) zookeepers().member(i).Kill();
    }
    for (size_t i = 0; i < zookeepers().size(); ++i) {
      if (i != leader_) SM_ASSERT_OK(zookeepers().Start(i));
    }
  }

  std::string Followers() const {
    std::vector<std::string> followers;
    for (size_t i = 0; i < zookeepers().size(); ++i) {
      if (i != leader_) followers.push_back(zookeepers().connect_string(i));
    }
    return absl::StrJoin(followers, ",");
  }

  static std::string Machine(size_t zookeeper) { return absl::StrCat("zookeeper-", zookeeper + 1); }
  local::Ensemble& zookeepers() const { return cluster_->zookeepers(); }

  std::unique_ptr<Network> network_;
  std::unique_ptr<local::MapWatcher> direct_;
  size_t leader_ = 0;
  size_t follower_ = 0;
  size_t server_at_ = 0;  // the one that kv-1 talks to
};

Micros ToMicros(TimePoint time) { return time.time_since_epoch().count(); }

// How many calls that began then kv-1 answered.
size_t AnswersBetween(const std::vector<Operation>& history, TimePoint from, TimePoint to) {
  return static_cast<size_t>(std::count_if(history.begin(), history.end(), [&](const auto& op) {
    return op.outcome == Outcome::kOk && op.server == kServer && op.invoked > ToMicros(from) &&
           op.invoked < ToMicros(to);
  }));
}

// kv-1 serves nothing any more when kv-2 gets its shards, though the ZooKeeper of kv-1 goes on.
void EnsembleTest::LosesItsShardsInTime(const std::function<void()>& fault) {
  // Its clients hear of no other owner: they go on asking it.
  cluster_->discovery().Pause();
  ClientLoad load({client_.get()}, {.shards = kShards, .threads = 8, .calls_per_second = 800});

  const std::string mode = zookeepers().member(server_at_).Mode();
  const TimePoint begin = MonotonicNow();
  fault();
  const auto lost = events_->WaitFor("ServerLost", kServer, begin, kPatience);
  ASSERT_TRUE(lost.has_value());
  // The danger is real: its ZooKeeper answers as if nothing was.
  EXPECT_EQ(zookeepers().member(server_at_).Mode(), mode);
  MapView taken;
  ASSERT_TRUE(direct_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts()[kOther] == kShards; }, kPatience,
      &taken))
      << direct_->view().Describe();
  EXPECT_EQ(zookeepers().member(server_at_).Mode(), mode);

  network_->Heal();
  const TimePoint healed = MonotonicNow();
  cluster_->discovery().Resume();
  ASSERT_TRUE(events_->WaitFor("ServerJoined", kServer, healed, kPatience));
  AwaitBalance();
  size_t unread = 0;
  const std::vector<Operation> history = load.Finish(&unread);
  EXPECT_EQ(unread, 0u);

  EXPECT_GT(AnswersBetween(history, begin, lost->seen), 0u) << "the load did not ask it";
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

std::future<absl::Status> Write(CoordinationStore& store, std::vector<WriteOp> ops) {
  auto done = std::make_shared<std::promise<absl::Status>>();
  store.Multi(std::move(ops), [done](WriteResult result) { done->set_value(result.status); });
  return done->get_future();
}

// As a lease was renewed before decision 0017.
absl::Status SyncAndGet(CoordinationStore& store, const std::string& path) {
  auto synced = std::make_shared<absl::Status>();
  auto done = std::make_shared<std::promise<absl::Status>>();
  store.Sync([synced](absl::Status status) { *synced = std::move(status); });
  store.Get(path, [synced, done](absl::StatusOr<Node> node) {
    done->set_value(synced->ok() ? node.status() : *synced);
  });
  return done->get_future().get();
}

bool AwaitGone(CoordinationStore& store, const std::string& path) {
  const auto deadline = MonotonicNow() + kPatience;
  while (MonotonicNow() < deadline) {
    auto changed = std::make_shared<std::promise<void>>();
    auto done = std::make_shared<std::promise<absl::Status>>();
    store.Get(
        path, [done](absl::StatusOr<Node> node) { done->set_value(node.status()); },
        [changed] { changed->set_value(); });
    if (absl::IsNotFound(done->get_future().get())) return true;
    changed->get_future().wait_until(std::chrono::steady_clock::now() + kPatience);
  }
  return false;
}

// What ZooKeeper 3.8 does, and why an answered sync renews no lease: docs/decisions/0017.
TEST_F(EnsembleTest, ADeposedLeaderAnswersSyncsAndReadsButNoWrites) {
  ASSERT_NO_FATAL_FAILURE(StartZookeepers());
  const std::string at_leader = zookeepers().connect_string(leader_);
  const std::chrono::milliseconds timeout(cluster_->options().session_timeout_ms);
  const auto session = ZookeeperStoreFactory(at_leader).NewSession({.timeout = timeout});
  // One that waits for a write gets no other answers before.
  const auto writer = ZookeeperStoreFactory(at_leader).NewSession({.timeout = timeout});
  const std::vector<WriteOp> check{CheckVersion{"/life", kAnyVersion}};
  SM_ASSERT_OK(Write(*session, {CreateNode{"/life", "", /*ephemeral=*/true}}).get());
  SM_ASSERT_OK(Write(*writer, check).get());

  ASSERT_NO_FATAL_FAILURE(Depose());
  auto written = Write(*writer, check);
  const auto elsewhere = ZookeeperStoreFactory(Followers()).NewSession({.timeout = timeout});
  // Waits until the followers have elected a leader, who ends the session in its own time.
  ASSERT_TRUE(AwaitGone(*elsewhere, "/life"));
  EXPECT_EQ(zookeepers().member(leader_).Mode(), "leader");
  const absl::Status renewed = SyncAndGet(*session, "/life");
  EXPECT_TRUE(renewed.ok()) << renewed;
  // Its client gave up: not even its pings were answered any more.
  EXPECT_TRUE(absl::IsUnavailable(written.get()));
}

TEST_F(EnsembleTest, F5_ServerAtACutOffFollowerStopsAdmittingBeforeItsShardsAreGrantedElsewhere) {
  ASSERT_NO_FATAL_FAILURE(StartZookeepers());
  ASSERT_NO_FATAL_FAILURE(Serve(follower_, zookeepers().connect_string(leader_)));
  LosesItsShardsInTime([&] { CutOff(follower_); });
}

TEST_F(EnsembleTest, F5_ServerAtADeposedLeaderStopsAdmittingBeforeItsShardsAreGrantedElsewhere) {
  ASSERT_NO_FATAL_FAILURE(StartZookeepers());
  ASSERT_NO_FATAL_FAILURE(Serve(leader_, Followers()));
  LosesItsShardsInTime([&] { Depose(); });
}

}  // namespace
}  // namespace shardmanager::testing
