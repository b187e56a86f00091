// What operators are shown of an app, its servers and its shards, in one situation after the other:
// golden texts (pictures.txt).
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/describe/explain_status.h"
#include "orchestrator/describe/maintenances.h"
#include "orchestrator/describe/requests.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/describe/waits.h"
#include "tests/golden/golden.h"
#include "tests/orchestrator/roles/roles_fixture.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

std::string Line(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  return text;
}

// A picture is what `shardctl get apps`, `get servers` and `get shards` are told, a line each.
class PicturesTest : public ::testing::Test {
 protected:
  ~PicturesTest() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    ExpectGolden("tests/orchestrator/describe/pictures/" + name + ".txt", text_);
  }

  void Begin(World& world) {
    world.Start();
    Picture(world, "nobody is there");
    world.JoinAt("kv-0", {"r1", "dc-1", "rack-1"}, /*capacity=*/100);
    world.Join("kv-1", "r2");
    world.Advance(Seconds(30));
  }
  void Picture(World& world, const std::string& when) {
    const PartitionState& state = world.partition().state();
    v1::AppStatus app = DescribeApp(state, world.now);
    v1::AppSpec name_only;
    name_only.set_name(app.spec().name());
    app.mutable_spec()->Swap(&name_only);
    absl::StrAppend(&text_, "---- ", when, "\n", Line(app), "\n");
    for (const v1::ServerStatus& server : DescribeServers(state, world.now, "")) {
      absl::StrAppend(&text_, "  ", Line(server), "\n");
    }
    for (const v1::ShardStatus& shard : DescribeShards(state, "")) {
      absl::StrAppend(&text_, "    ", Line(shard), "\n");
    }
  }

  void Notices(World& world, const std::string& when) {
    Say(absl::StrCat("---- ", when));
    for (const auto& status : DescribeMaintenances(world.partition().state(), world.now, "")) {
      Say("  " + Line(status));
    }
  }
  void Say(const std::string& line) { absl::StrAppend(&text_, line, "\n"); }

 private:
  std::string text_;
};

TEST_F(PicturesTest, ServersComeAndGo) {
  v1::AppSpec spec = TestSpec(2);
  spec.mutable_failover()->set_delay_ms(20'000);
  World world(spec);
  Picture(world, "a new leader reads its records");
  world.hold_adds = true;
  Begin(world);
  Picture(world, "the first ones load");
  world.hold_adds = false;
  world.FinishAdds();
  world.Advance(Seconds(30));
  Picture(world, "all is served");
  world.Depart("kv-1");
  world.Advance(Seconds(2));
  Picture(world, "kv-1 was stopped");
  world.Join("kv-1", "r2");
  world.Advance(Seconds(60));
  world.Die("kv-1");
  world.Advance(Seconds(2));
  Picture(world, "kv-1 is lost");
  world.servers["kv-0"].refuses = {"s-0", "s-1"};
  world.Advance(Seconds(40));
  Picture(world, "kv-0 is to take its shard over, and cannot");
  world.servers["kv-0"].refuses = {};
  world.Advance(Seconds(60));
  Picture(world, "it has");
  world.Die("kv-0");
  world.Advance(Seconds(60));
  Picture(world, "nobody is left");
}

TEST_F(PicturesTest, OrdersOfOperators) {
  const v1::AppSpec spec = TestSpec(2);
  World world(spec);
  Begin(world);
  world.hold_adds = true;
  world.ordered.drains = {DrainOf("kv-0")};
  world.ordered.drains.back().set_reason("the disk is noisy");
  world.ordered.drains.back().set_since_ms(1'800'000'000'000);
  world.Apply(spec);
  world.Advance(Seconds(1));
  Picture(world, "kv-0 is drained: its shard is on its way");
  world.hold_adds = false;
  world.FinishAdds();
  world.Advance(Seconds(30));
  Picture(world, "kv-0 is drained: it is empty");
  world.ordered.drains.clear();
  v1::Pin& pin = world.ordered.pins.emplace_back();
  pin.set_shard("s-0");
  pin.set_reason("it is debugged");
  pin.set_since_ms(1'800'000'000'000);
  v1::Pause& pause = world.ordered.pause.emplace();
  pause.set_failover(true);
  pause.set_reason("the network is changed");
  pause.set_since_ms(1'800'000'000'000);
  world.Apply(spec);
  world.Advance(Seconds(30));
  Picture(world, "paused, and a shard is pinned");
  world.ordered = {};
  world.hold_writes = true;
  world.Apply(spec, /*deleting=*/true);
  Picture(world, "it is being deleted");
}

TEST_F(PicturesTest, Troubles) {
  World world(TestSpec(2));
  Begin(world);
  world.servers["kv-1"].answers = false;
  world.Restart();
  Picture(world, "a new leader has not heard of kv-1 yet");
  world.Advance(Seconds(30));
  Picture(world, "kv-1 cannot be reached");
  world.servers["kv-1"].answers = true;
  world.servers["kv-1"].life_damaged = true;
  world.servers["kv-0"].record_damaged = true;
  world.Restart();
  world.Advance(Seconds(30));
  Picture(world, "kv-0's assignment record and kv-1's live record are damaged");
  world.Die("kv-0");
  world.Advance(Seconds(60));
  Picture(world, "and kv-0 is lost");
}

TEST_F(PicturesTest, APrimaryMoves) {
  v1::AppSpec spec = TestSpec(1);
  World world(spec);
  Begin(world);
  world.hold_writes = true;
  const std::string owner = world.Holders("s-0").front();
  world.ordered.drains = {DrainOf(owner)};
  world.Apply(spec);
  world.Advance(Milliseconds(10));
  for (const char* step : {"prepared", "forwarded", "handed over"}) {
    ASSERT_EQ(world.writes.size(), 1u);
    world.FinishWrite(WriteOutcome::kOk);
    Picture(world, step);
  }
}

TEST_F(PicturesTest, PrimariesAndSecondaries) {
  const v1::AppSpec spec = TestSpec(1, v1::PRIMARY_SECONDARY, 2);
  World world(spec);
  Begin(world);
  Picture(world, "all is served");
  world.hold_writes = true;
  world.ordered.drains = {DrainOf("kv-0", /*primaries_only=*/true)};
  world.Apply(spec);
  world.FinishWrite(WriteOutcome::kOk);
  Picture(world, "the primary is to be a secondary");
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(30));
  Picture(world, "it is one");
  world.hold_writes = true;
  world.Die("kv-1");
  Picture(world, "the primary is lost");
}

TEST_F(PicturesTest, AnOrchestratorOfItsOwn) {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.set_orchestrator(v1::APPLICATION);
  spec.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  spec.mutable_replication()->set_replicas(2);
  World world(WithDefaults(spec));
  world.Start();
  Picture(world, "it has said nothing yet");
  SuppliedMap map{.life = 1, .sequence = 1};
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) {
    map.servers.push_back({.name = name,
                           .incarnation = Incarnation(3),
                           .fault_domain = {"r1", "dc-1", ""},
                           .process = std::string(name) + "-host/7"});
  }
  map.servers[0].replicas = {{"s-0", v1::PRIMARY, true}, {"s-1", v1::SECONDARY, false}};
  map.servers[1].replicas = {{"s-0", v1::SECONDARY, true}};
  map.servers[2].replicas = {{"s-1", v1::PRIMARY, true}};
  map.servers[2].down = true;
  world.Send(MapSupplied{map});
  world.ordered.drains = {DrainOf("kv-0")};
  world.Apply(WithDefaults(spec));
  Picture(world, "it has supplied a map, and kv-0 is drained");
  Say(Line(DescribeRequests(world.partition().state(), world.now)));
  world.Advance(Seconds(30));
  Picture(world, "it has been silent for too long");
}

TEST_F(PicturesTest, Loads) {
  v1::AppSpec spec = TestSpec(2);
  v1::Metric& cpu = *spec.add_metrics();
  cpu.set_name("cpu");
  cpu.set_capacity(8);
  World world(spec);
  world.load = [](const std::string& shard, const std::string&) {
    return std::vector<MetricAmount>{{"cpu", shard == "s-0" ? 1.5 : 2.5}};
  };
  Begin(world);
  Picture(world, "as the servers report");
}

TEST_F(PicturesTest, AMaintenance) {
  constexpr int64_t kNowMs = 1'800'000'000'000;
  v1::AppSpec spec = TestSpec(1, v1::PRIMARY_SECONDARY, 2);
  spec.mutable_drain()->set_prepare_ms(60'000);
  World world(spec);
  Begin(world);
  world.Join("kv-2", "r2");
  world.Advance(Seconds(10));
  for (const v1::MaintenanceImpact impact : {v1::NETWORK_LOSS, v1::MACHINE_LOSS}) {
    v1::Maintenance notice;
    notice.set_id(absl::StrCat("change-", static_cast<int>(impact)));
    notice.mutable_scope()->mutable_domain()->set_region("r1");
    notice.set_impact(impact);
    notice.set_start_ms(kNowMs + 120'000);
    notice.set_end_ms(kNowMs + 180'000);
    world.ordered.maintenances.push_back(OnClock(notice, world.now, kNowMs));
  }
  world.hold_adds = true;
  world.Apply(spec);
  Notices(world, "two of region r1 are ahead");
  world.Advance(Seconds(61));
  Notices(world, "they are prepared");
  world.Advance(Seconds(60));
  Notices(world, "they are under way");
  Picture(world, "they are under way");
  world.hold_adds = false;
  world.FinishAdds();
  world.Advance(Seconds(30));
  Notices(world, "what has to leave has left");
  world.Advance(Seconds(31));
  Notices(world, "they are over");
}

TEST_F(PicturesTest, AnExplanation) {
  v1::AppSpec spec = TestSpec(2);
  spec.add_metrics()->set_name("cpu");
  World world(spec);
  world.load = [](const std::string&, const std::string&) {
    return std::vector<MetricAmount>{{"cpu", 1.5}};
  };
  Begin(world);
  const Tables& tables = world.partition().tables();
  const allocator::Argument argument{
      .goal = "balance", .rule = "balance(server, cpu)", .cost = 2, .cost_now = 1};
  const allocator::Explanation explanation{
      .replicas = {{.server = ServerIndex()},
                   {.server = tables.FindServer("kv-1"), .arguments = {argument}},
                   {.server = tables.FindServer("kv-0"), .arguments = {argument}}},
      .candidates = {{.server = tables.FindServer("kv-0"),
                      .from = tables.FindServer("kv-1"),
                      .reason = "it is full",
                      .arguments = {argument}},
                     {.server = tables.FindServer("kv-1")}},
      .servers_considered = 7,
      .refused = {{.rule = "capacity(server, cpu)", .servers = 3}}};
  world.servers["kv-0"].refuses = {"s-0"};
  world.Restart();
  for (const char* shard : {"s-0", "s-1"}) {
    Say(Line(DescribeExplanation(world.partition().state(), world.now,
                                 {.shard = world.partition().tables().FindShard(shard)},
                                 explanation)));
  }
}

TEST_F(PicturesTest, EachReasonToWait) {
  World world(TestSpec(1));
  Begin(world);
  for (const bool failover : {false, true}) {
    v1::Pause& pause = world.ordered.pause.emplace();
    pause.set_failover(failover);
    pause.set_since_ms(1'800'000'000'000);
    world.Apply(TestSpec(1));
    const PartitionState& state = world.partition().state();
    for (size_t i = 0; i < kWaitReasons; ++i) {
      const Wait wait{.reason = static_cast<WaitReason>(i),
                      .server = state.tables.FindServer("kv-0"),
                      .other = state.tables.FindServer("kv-1"),
                      .cause = failover ? Cause::kDrain : Cause::kBalance,
                      .count = failover ? 1u : 2u,
                      .limit = 3,
                      .until = world.now + Milliseconds(1'500),
                      .detail = "disk full"};
      Say(absl::StrCat(std::string(ToString(wait.reason)), ": ", Describe(state, wait, world.now)));
    }
    Wait command{.reason = WaitReason::kCommandUnderWay, .server = ServerIndex(0)};
    for (const CommandKind kind :
         {CommandKind::kAdd, CommandKind::kDrop, CommandKind::kPrepareAdd,
          CommandKind::kPrepareDrop, CommandKind::kChangeRole, CommandKind::kSetMembers}) {
      command.command = kind;
      command.percent = failover ? 0 : -1;
      command.reason = WaitReason::kCommandUnderWay;
      Say(Describe(state, command, world.now));
      command.reason = WaitReason::kCommandFailed;
      Say(Describe(state, command, world.now));
    }
  }
}

TEST_F(PicturesTest, Ranges) {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.mutable_key_space()->add_split_points("m");
  World world(WithDefaults(spec));
  Begin(world);
  Picture(world, "each shard has a range of keys");
}

}  // namespace
}  // namespace shardmanager::orchestrator
