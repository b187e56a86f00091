// Damaged records under the drivers of production: the bytes stay, the rest is served,
// and operators see which record it is and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/small_cluster.h"

namespace shardmanager::simulation {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint32_t kBuckets = 2;
constexpr int kShards = 12;
const std::string kDamage = "what a disk made of it";

v1::AppSpec Spec(const std::string& name = kApp) {
  v1::AppSpec spec;
  spec.set_name(name);
  for (int i = 0; i < kShards; ++i) {
    spec.mutable_key_space()->add_shards()->set_id(absl::StrCat("s-", i));
  }
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  spec.mutable_replication()->set_replicas(1);
  spec.mutable_failover()->set_delay_ms(1'000);
  return spec;
}

class DamagedRecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    vandal_ = vandals_->NewSession({});
    RunFor(Seconds(3));
    ASSERT_TRUE(Apply(Spec()).ok());
    RunFor(Seconds(20));
    ASSERT_EQ(Served(), kShards);
  }
  void TearDown() override { EXPECT_EQ(checkers_.violation(), ""); }

  void RunFor(Duration time) {
    const TimePoint end = cluster_.schedule.now() + time;
    for (TimePoint next = cluster_.schedule.now(); next < end; next += Milliseconds(100)) {
      while (cluster_.schedule.RunNext(next)) cluster_.store.Kick();
      checkers_.Probe();
    }
  }

  // ---- the store, behind everybody's back ----
  std::string Bytes(const std::string& path) {
    const auto node = cluster_.store.tree().Get(path);
    return node.ok() ? node->data : absl::StrCat("none: ", std::string(node.status().message()));
  }
  void Write(const std::string& path, const std::string& bytes) {
    vandal_->Multi({SetNode{path, bytes}}, [](const WriteResult& result) {
      EXPECT_TRUE(result.status.ok()) << result.status;
    });
    cluster_.store.Kick();
    RunFor(Milliseconds(500));
  }
  std::vector<std::string> Quarantine() {
    const auto kept = cluster_.store.tree().Children(paths_.quarantine());
    return kept.ok() ? *kept : std::vector<std::string>();
  }
  std::string AssignmentOf(const std::string& server) {
    return paths_.assignment(app_, ServerName(server), kBuckets);
  }

  // ---- people ----
  std::string LeaderHost() {
    for (const std::string& name : cluster_.controls()) {
      SimControl* control = cluster_.control(name);
      if (control != nullptr && control->controller().leads()) return name;
    }
    ADD_FAILURE() << "nobody leads";
    return cluster_.controls()[0];
  }
  orchestrator::Controller& Leader() { return cluster_.control(LeaderHost())->controller(); }
  // Of a command, the caller waits to the end.
  template <typename Request, typename Response, typename... Wanted>
  absl::StatusOr<Response> Ask(void (orchestrator::Operations::*method)(
                                   Request, orchestrator::Operations::Reply<Response>, Wanted...),
                               const Request& request) {
    auto answer = std::make_shared<absl::StatusOr<Response>>(absl::DeadlineExceededError("late"));
    (Leader().operations().*method)(
        request, [answer](absl::StatusOr<Response> reply) { *answer = reply; }, Wanted{}...);
    RunFor(Seconds(1));
    return *answer;
  }
  absl::Status Apply(const v1::AppSpec& spec, bool force = false) {
    v1::ApplyAppRequest request;
    *request.mutable_spec() = spec;
    request.set_force(force);
    return Ask(&orchestrator::Operations::ApplyApp, request).status();
  }
  absl::Status DrainServer(const std::string& server) {
    v1::DrainRequest request;
    request.mutable_drain()->mutable_scope()->set_server(server);
    return Ask(&orchestrator::Operations::Drain, request).status();
  }
  absl::StatusOr<std::string> Release(const std::string& server) {
    v1::ReleaseServerRequest request;
    request.set_app(kApp);
    request.set_server(server);
    const auto response = Ask(&orchestrator::Operations::ReleaseServer, request);
    if (!response.ok()) return response.status();
    return response->kept_at();
  }
  std::vector<std::string> Conditions(const std::string& app = kApp) {
    v1::GetAppsRequest request;
    request.set_app(app);
    const auto response = Ask(&orchestrator::Operations::GetApps, request);
    if (!response.ok() || response->apps_size() != 1) return {response.status().ToString()};
    return {response->apps(0).conditions().begin(), response->apps(0).conditions().end()};
  }
  v1::ShardStatus Shard(const std::string& shard) {
    v1::GetShardsRequest request;
    request.set_app(kApp);
    request.set_shard(shard);
    return Ask(&orchestrator::Operations::GetShards, request)->shards(0);
  }
  std::string ReasonOf(const std::string& server) {
    v1::GetServersRequest request;
    request.set_app(kApp);
    request.set_server(server);
    return Ask(&orchestrator::Operations::GetServers, request)->servers(0).reason();
  }

  // A new leader reads everything back.
  void ChangeLeader() {
    const std::string name = LeaderHost();
    cluster_.Terminate(name);
    RunFor(Seconds(1));
    cluster_.Start(name);
    RunFor(Seconds(10));
  }
  int Served() { return static_cast<int>(checkers_.Sweep().size()); }
  std::vector<std::string> ShardsOf(const std::string& server) {
    std::vector<std::string> shards;
    for (const auto& [shard, servers] : checkers_.Sweep()) {
      if (servers.contains(server)) shards.push_back(shard);
    }
    return shards;
  }

  const Paths paths_{kCell};
  const AppName app_{kApp};
  Checkers checkers_;
  Cluster cluster_{SmallCluster(2, 1, Seconds(2), kBuckets), /*seed=*/7, checkers_,
                   [](uint64_t, bool) {}};
  std::shared_ptr<Process> nobody_ =
      std::make_shared<Process>(cluster_.schedule, "vandal", 0, Duration(0));
  std::unique_ptr<CoordinationStoreFactory> vandals_ = cluster_.store.FactoryFor(nobody_);
  std::unique_ptr<CoordinationStore> vandal_;

  void Watch() { checkers_.Watch(cluster_); }
  DamagedRecordsTest() { Watch(); }
};

TEST_F(DamagedRecordsTest, ADamagedAssignmentIsKeptAndNamedAndTheRestIsServed) {
  const std::vector<std::string> shards = ShardsOf("kv-1");
  ASSERT_THAT(shards, SizeIs(4));
  Write(AssignmentOf("kv-1"), kDamage);
  ChangeLeader();
  RunFor(Seconds(60));
  EXPECT_EQ(Served(), kShards) << "kv-1 serves on under its lease";
  EXPECT_EQ(Bytes(AssignmentOf("kv-1")), kDamage) << "nobody wrote over it";
  ASSERT_THAT(Quarantine(), SizeIs(1));
  EXPECT_EQ(Bytes(paths_.quarantine() + "/" + Quarantine()[0]), kDamage);
  EXPECT_THAT(Conditions(),
              Contains(AllOf(HasSubstr("the assignment record of kv-1 cannot be "
                                       "read (not a record"),
                             HasSubstr(AssignmentOf("kv-1")), HasSubstr(Quarantine()[0]),
                             HasSubstr("shardctl release server kv-1 --app kv"))));
  EXPECT_THAT(ReasonOf("kv-1"), HasSubstr("its assignment record cannot be read"));
}

TEST_F(DamagedRecordsTest, NothingIsFailedOverFromADeadServerUntilItIsReleased) {
  const std::vector<std::string> shards = ShardsOf("kv-1");
  Write(AssignmentOf("kv-1"), kDamage);
  ChangeLeader();
  EXPECT_THAT(Release("kv-1").status().ToString(),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("is live"), HasSubstr("stop it")));
  EXPECT_EQ(Release("kv-0").status().code(), absl::StatusCode::kNotFound);

  cluster_.Kill("kv-1");
  RunFor(Seconds(60));
  EXPECT_EQ(Served(), kShards - 4);
  EXPECT_THAT(Shard(shards[0]).reason(), HasSubstr("it may be on kv-1"));
  EXPECT_THAT(Conditions(), Contains(HasSubstr("4 shards may be on kv-1")));

  // Its next life cannot read the record either: it serves nothing, and says why.
  cluster_.Start("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards - 4);
  EXPECT_FALSE(Release("kv-1").ok()) << "it is live again";

  cluster_.Terminate("kv-1");
  RunFor(Seconds(10));
  const auto kept_at = Release("kv-1");
  ASSERT_TRUE(kept_at.ok()) << kept_at.status();
  EXPECT_EQ(Bytes(*kept_at), kDamage);
  RunFor(Seconds(20));
  EXPECT_EQ(Served(), kShards);
  EXPECT_THAT(Conditions(), IsEmpty());
  cluster_.Start("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards);
  EXPECT_THAT(ShardsOf("kv-1"), SizeIs(4));
}

// Mended by hand, from a copy: found within the time of a full look, and all goes on.
TEST_F(DamagedRecordsTest, AMendedAssignmentIsTakenUp) {
  const std::string good = Bytes(AssignmentOf("kv-1"));
  Write(AssignmentOf("kv-1"), good.substr(0, good.size() / 2));
  ChangeLeader();
  EXPECT_THAT(Conditions(), Contains(HasSubstr("the assignment record of kv-1")));
  Write(AssignmentOf("kv-1"), good);
  RunFor(Seconds(15));
  EXPECT_THAT(Conditions(), IsEmpty());
  cluster_.Kill("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards);
}

TEST_F(DamagedRecordsTest, AnAssignmentOfANewerVersionIsRefusedAndNeverReleased) {
  v1::Envelope envelope;
  envelope.ParseFromString(Bytes(AssignmentOf("kv-1")));
  envelope.set_format_version(9);
  Write(AssignmentOf("kv-1"), envelope.SerializeAsString());
  ChangeLeader();
  EXPECT_THAT(Conditions(),
              Contains(AllOf(HasSubstr("format version 9"), HasSubstr("Run that version"))));
  cluster_.Terminate("kv-1");
  RunFor(Seconds(10));
  EXPECT_THAT(Release("kv-1").status().ToString(), HasSubstr("a newer version wrote the record"));
  EXPECT_EQ(Bytes(AssignmentOf("kv-1")), envelope.SerializeAsString());
}

TEST_F(DamagedRecordsTest, ValuesThatThisBuildDoesNotKnowAreNotHalfRead) {
  v1::AssignmentRecord record;
  ASSERT_TRUE(Open(Bytes(AssignmentOf("kv-1")), &record).ok());
  record.mutable_replicas(0)->set_phase(static_cast<v1::Phase>(77));
  Write(AssignmentOf("kv-1"), Seal(record));
  ChangeLeader();
  EXPECT_THAT(Conditions(), Contains(HasSubstr("record has phase 77")));
  cluster_.Kill("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards - 4);
}

TEST_F(DamagedRecordsTest, ARecordOfAnotherServerIsRefused) {
  Write(AssignmentOf("kv-1"), Bytes(AssignmentOf("kv-0")));
  ChangeLeader();
  EXPECT_THAT(Conditions(), Contains(HasSubstr("record belongs to \"kv-0\", not to \"kv-1\"")));
  cluster_.Kill("kv-1");
  cluster_.Start("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards - 4);
}

TEST_F(DamagedRecordsTest, ADamagedLiveRecordIsNotTakenForADeadServer) {
  const std::string path =
      paths_.live(app_, ServerName("kv-1"), cluster_.server("kv-1")->incarnation(), kBuckets);
  Write(path, kDamage);
  ChangeLeader();
  RunFor(Seconds(60));
  EXPECT_EQ(Served(), kShards);
  EXPECT_THAT(ShardsOf("kv-1"), SizeIs(4)) << "it holds its lease";
  EXPECT_THAT(Conditions(), Contains(AllOf(HasSubstr("the live record of kv-1"),
                                           HasSubstr("a restart of it writes a new one"))));
  cluster_.Kill("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards) << "failed over once it is gone";
  EXPECT_THAT(Conditions(), IsEmpty());
}

TEST_F(DamagedRecordsTest, ADamagedRegistrationIsKeptBeforeItIsWrittenAnew) {
  const std::string path = paths_.server(app_, ServerName("kv-1"), kBuckets);
  // Behind the leader's back: it is the server that finds it.
  cluster_.Kill("kv-1");
  Write(path, kDamage);
  cluster_.Start("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards);
  ASSERT_THAT(Quarantine(), SizeIs(1));
  EXPECT_EQ(Bytes(paths_.quarantine() + "/" + Quarantine()[0]), kDamage);
  v1::ServerRecord record;
  EXPECT_TRUE(Open(Bytes(path), &record).ok());
}

TEST_F(DamagedRecordsTest, ARegistrationOfANewerVersionKeepsTheServerOut) {
  v1::ServerRecord record;
  record.set_server("kv-1");
  v1::Envelope envelope;
  envelope.ParseFromString(Seal(record));
  envelope.set_format_version(9);
  const std::string path = paths_.server(app_, ServerName("kv-1"), kBuckets);
  cluster_.Kill("kv-1");
  RunFor(Seconds(10));
  Write(path, envelope.SerializeAsString());
  cluster_.Start("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards);
  EXPECT_THAT(ShardsOf("kv-1"), IsEmpty());
  EXPECT_EQ(Bytes(path), envelope.SerializeAsString());
}

TEST_F(DamagedRecordsTest, ADamagedSpecStopsItsAppAndNoOther) {
  const std::string path = paths_.spec(app_);
  Write(path, kDamage);
  // The leader that read it goes on by what it knows.
  EXPECT_THAT(Conditions(), Contains(HasSubstr("the stored spec cannot be read")));
  cluster_.Kill("kv-1");
  RunFor(Seconds(20));
  EXPECT_EQ(Served(), kShards);

  ChangeLeader();
  EXPECT_THAT(Conditions(), Contains(HasSubstr("DATA_LOSS: not a record")));
  ASSERT_TRUE(Apply(Spec("other")).ok()) << "other apps go on";
  EXPECT_THAT(Conditions("other"), testing::Not(Contains(HasSubstr("cannot be read"))));
  EXPECT_EQ(Served(), kShards) << "its servers serve on";
  EXPECT_THAT(Apply(Spec()).ToString(),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("--force")));
  EXPECT_EQ(Bytes(path), kDamage);

  EXPECT_EQ(Apply(Spec(), /*force=*/true), absl::OkStatus());
  ASSERT_THAT(Quarantine(), SizeIs(1));
  EXPECT_EQ(Bytes(paths_.quarantine() + "/" + Quarantine()[0]), kDamage);
  cluster_.Start("kv-1");
  RunFor(Seconds(30));
  EXPECT_EQ(Served(), kShards);
  EXPECT_THAT(ShardsOf("kv-1"), SizeIs(4)) << "it is managed again";
  EXPECT_THAT(Conditions(), IsEmpty());
}

// After each of the events that follow the request in turn.
TEST_F(DamagedRecordsTest, AReplacementThatIsLostWithTheConnectionIsWrittenAgain) {
  for (int events = 0; events < 12; ++events) {
    Write(paths_.spec(app_), kDamage);
    ChangeLeader();
    v1::ApplyAppRequest request;
    *request.mutable_spec() = Spec();
    request.set_force(true);
    absl::Status heard = absl::DeadlineExceededError("no answer");
    Leader().operations().ApplyApp(
        request, [&heard](const auto& response) { heard = response.status(); },
        [] { return true; });
    for (int i = 0; i < events; ++i) {
      ASSERT_TRUE(cluster_.schedule.RunNext(cluster_.schedule.now() + Seconds(1)));
      cluster_.store.Kick();
    }
    cluster_.store.ComeBackToLag(LeaderHost());
    RunFor(Seconds(10));
    EXPECT_EQ(heard, absl::OkStatus()) << "the connection broke after " << events << " events";
    RunFor(Seconds(10));
  }
}

TEST_F(DamagedRecordsTest, ASpecOfANewerVersionIsNotReplaced) {
  v1::Envelope envelope;
  envelope.ParseFromString(Bytes(paths_.spec(app_)));
  envelope.set_format_version(9);
  Write(paths_.spec(app_), envelope.SerializeAsString());
  EXPECT_THAT(Conditions(), Contains(HasSubstr("format version 9")));
  EXPECT_THAT(Apply(Spec(), /*force=*/true).ToString(), HasSubstr("a newer version"));
  ChangeLeader();
  EXPECT_THAT(Apply(Spec(), /*force=*/true).ToString(), HasSubstr("a newer version"));
  EXPECT_EQ(Bytes(paths_.spec(app_)), envelope.SerializeAsString());
}

// Drains are kept beside the spec, in the same record.
TEST_F(DamagedRecordsTest, NoDrainIsWrittenOverASpecThatCannotBeRead) {
  Write(paths_.spec(app_), kDamage);
  const absl::Status drained = DrainServer("kv-1");
  EXPECT_EQ(drained.code(), absl::StatusCode::kFailedPrecondition) << drained;
  EXPECT_THAT(drained.ToString(), AllOf(HasSubstr("app \"kv\""), HasSubstr("apply --force")));
  EXPECT_EQ(Bytes(paths_.spec(app_)), kDamage);
}

TEST_F(DamagedRecordsTest, ASpecThatIsPutInPlaceOfADamagedOneKeepsTheDrainsThatAreKnown) {
  ASSERT_EQ(DrainServer("kv-1"), absl::OkStatus());
  RunFor(Seconds(30));
  ASSERT_THAT(ShardsOf("kv-1"), IsEmpty());
  Write(paths_.spec(app_), kDamage);
  ASSERT_EQ(Apply(Spec(), /*force=*/true), absl::OkStatus());
  RunFor(Seconds(30));
  EXPECT_THAT(ShardsOf("kv-1"), IsEmpty());
  EXPECT_EQ(checkers_.StoredDrains().count("kv-1"), 1u);
}

}  // namespace
}  // namespace shardmanager::simulation
