// Where servers are beyond their limits, roles change before replicas move (decision 0035).
#include "orchestrator/decide/load/primary_balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/decide/load/loads.h"
#include "orchestrator/describe/waits.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kShards = 24;

v1::AppSpec Spec(uint32_t replicas = 2) {
  v1::AppSpec spec = TestSpec(kShards, v1::PRIMARY_SECONDARY, replicas);
  spec.add_metrics()->set_name("cpu");
  return WithDefaults(spec);
}

// 24 shards with two replicas each on three servers; a primary carries ten times as much as a
// secondary. At first each server has about eight primaries.
class PrimaryBalanceTest : public testing::Test {
 protected:
  explicit PrimaryBalanceTest(const std::string& first_region = "r1") : spec(Spec()), world(spec) {
    world.load = [this](const std::string& shard, const std::string& server) {
      const bool primary = world.servers[server].held[shard].role == Role::kPrimary;
      const double load = hot.contains(shard) ? hot[shard] : 10.0;
      return std::vector<MetricAmount>{{"cpu", primary ? load : secondary_part * load}};
    };
    world.Start();
    world.Join("kv-0", first_region);
    world.Join("kv-1", "r1");
    world.Join("kv-2", "r1");
    world.Advance(Seconds(600));
    for (const auto& [name, count] : Primaries()) EXPECT_NEAR(count, 8, 1) << name;
    Forget();
  }
  void Forget() {
    world.notes.clear();
    world.commands.clear();
  }
  std::vector<std::string> ShardsLedBy(const std::string& server) {
    std::vector<std::string> shards;
    for (const auto& [shard, held] : world.servers[server].held) {
      if (held.role == Role::kPrimary) shards.push_back(shard);
    }
    return shards;
  }
  std::map<std::string, int> Primaries() {
    std::map<std::string, int> counts;
    for (const auto& [name, server] : world.servers) {
      counts[name] = static_cast<int>(ShardsLedBy(name).size());
    }
    return counts;
  }
  void Heat(const std::string& server, double load) {
    for (const std::string& shard : ShardsLedBy(server)) hot[shard] = load;
  }
  // The most that a server measures, over the mean.
  double MostOverMean() {
    double most = 0, all = 0;
    for (const auto& [name, server] : world.servers) {
      double sum = 0;
      for (const auto& [shard, held] : server.held) sum += world.load(shard, name)[0].amount;
      most = std::max(most, sum);
      all += sum;
    }
    return most / (all / static_cast<double>(world.servers.size()));
  }
  size_t Moves() { return world.NoteCount(NoteKind::kMoveStarted); }
  size_t RoleChanges() { return world.NoteCount(NoteKind::kPrimaryPassesOn); }

  const v1::AppSpec spec;
  std::map<std::string, double> hot;
  double secondary_part = 0.1;
  World world;
};

TEST_F(PrimaryBalanceTest, RolesChangeFirstAndFewReplicasMoveAfterThat) {
  Heat("kv-0", 20);
  world.Advance(Seconds(900));
  const auto first = std::find_if(world.notes.begin(), world.notes.end(), [](const Note& n) {
    return n.kind == NoteKind::kPrimaryPassesOn || n.kind == NoteKind::kMoveStarted;
  });
  ASSERT_NE(first, world.notes.end());
  EXPECT_EQ(first->kind, NoteKind::kPrimaryPassesOn);
  EXPECT_LE(Moves(), 5u) << "of twenty hot shards";
  EXPECT_LE(MostOverMean(), 1.16);
  EXPECT_EQ(world.Served(), static_cast<size_t>(kShards));
}

// As many primaries on each server would be too much for one: the loads count.
TEST_F(PrimaryBalanceTest, NumbersOfPrimariesDoNotUndoIt) {
  Heat("kv-0", 40);
  world.Advance(Seconds(900));
  Forget();
  world.Advance(Seconds(4 * 3'600));
  EXPECT_EQ(RoleChanges() + Moves(), 0u);
  EXPECT_LE(MostOverMean(), 1.16);
}

TEST_F(PrimaryBalanceTest, WhereRolesMakeNoDifferenceReplicasMove) {
  secondary_part = 1;
  world.Advance(Seconds(600));
  Forget();
  const std::string shard = ShardsLedBy("kv-0").front();
  hot[shard] = 200;
  world.Advance(Seconds(900));
  EXPECT_EQ(RoleChanges(), 0u);
  EXPECT_GT(Moves(), 0u);
}

TEST_F(PrimaryBalanceTest, APinnedShardKeepsItsPrimary) {
  for (const std::string& shard : ShardsLedBy("kv-0")) {
    world.ordered.pins.emplace_back().set_shard(shard);
  }
  world.Apply(spec);
  Heat("kv-0", 20);
  world.Advance(Seconds(900));
  EXPECT_EQ(RoleChanges(), 0u);
}

TEST_F(PrimaryBalanceTest, APausedAppKeepsItsPrimaries) {
  world.ordered.pause.emplace();
  world.Apply(spec);
  Heat("kv-0", 20);
  world.Advance(Seconds(900));
  EXPECT_EQ(RoleChanges(), 0u);
}

class PrimaryOfRegionTest : public PrimaryBalanceTest {
 protected:
  PrimaryOfRegionTest() : PrimaryBalanceTest("r0") {}
};

// kv-0 is the only server in r0: whoever is wanted there stays, and the others' roles go.
TEST_F(PrimaryOfRegionTest, APrimaryStaysInTheRegionInWhichItIsWanted) {
  const std::vector<std::string> led = ShardsLedBy("kv-0");
  auto& wanted = *world.ordered.preferences.add_regions();
  wanted.set_region("r0");
  for (size_t i = 0; i < 6; ++i) wanted.add_shards(led[i]);
  world.Apply(spec);
  world.Advance(Seconds(60));
  Forget();
  Heat("kv-0", 20);
  world.Advance(Seconds(900));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_THAT(world.Roles(led[i]), Contains("kv-0*")) << led[i];
  }
  EXPECT_EQ(RoleChanges(), 2u);
}

TEST_F(PrimaryBalanceTest, SaysWhatIsGoingOn) {
  Heat("kv-0", 20);
  while (RoleChanges() == 0) {
    ASSERT_LT(world.now, TimePoint(Seconds(3'600)));
    world.hold_writes = true;
    world.Advance(Seconds(1));
  }
  const auto note = std::find_if(world.notes.begin(), world.notes.end(), [](const Note& n) {
    return n.kind == NoteKind::kPrimaryPassesOn;
  });
  EXPECT_EQ(note->detail, "from kv-0, which is beyond its limits: no data moves");
  const PartitionState& state = world.partition().state();
  EXPECT_THAT(world.WaitsOf(world.Name(note->shard)),
              Contains(absl::StrCat(state.tables.name(note->server),
                                    " is to be the primary in place of kv-0, for balance: no data "
                                    "moves")));
  EXPECT_THAT(BalanceState(state, world.now), HasSubstr("wait for "));
  EXPECT_THAT(BalanceState(state, world.now), HasSubstr("of primaries, which may do without them"));
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(600));
  EXPECT_THAT(BalanceState(state, world.now), Not(HasSubstr("of primaries")));
}

// What is known of the two replicas changes with their roles: nobody has to report before the next
// look.
TEST_F(PrimaryBalanceTest, LoadsGoWithTheRoles) {
  const std::string shard = ShardsLedBy("kv-0").front();
  const PartitionState& state = world.partition().state();
  world.hold_collects = true;
  const auto load_at = [&](const std::string& server) {
    const ShardIndex id = state.tables.FindShard(shard);
    const ReplicaIndex r = state.tables.FindReplica(id, state.tables.FindServer(server));
    return r.valid() ? ReplicaLoad(state, r, 0) : -1;
  };
  ASSERT_NEAR(load_at("kv-0"), 10, 0.1);
  v1::Drain& drain = world.ordered.drains.emplace_back();
  drain.mutable_scope()->set_server("kv-0");
  drain.set_primaries_only(true);
  world.Apply(spec);
  world.Advance(Seconds(20));
  ASSERT_THAT(world.Roles(shard), Not(Contains("kv-0*")));
  EXPECT_NEAR(load_at("kv-0"), 1, 0.1);
  EXPECT_NEAR(std::max(load_at("kv-1"), load_at("kv-2")), 10, 0.1);
}

TEST_F(PrimaryBalanceTest, ANewSecondaryIsToCarryWhatSecondariesDo) {
  const std::string shard = ShardsLedBy("kv-0").front();
  const PartitionState& state = world.partition().state();
  v1::AppSpec more = spec;
  more.mutable_replication()->set_replicas(3);
  world.hold_collects = true;
  world.Apply(more);
  world.Advance(Seconds(20));
  ASSERT_EQ(world.Roles(shard).size(), 3u);
  double all = 0;
  state.tables.ForEach(state.tables.FindShard(shard),
                       [&](ReplicaIndex r, const Replica&) { all += ReplicaLoad(state, r, 0); });
  EXPECT_NEAR(all, 10 + 1 + 1, 0.2);
}

// Of many drawn loads: what the changes do to servers, by what the processes measure.
TEST(PrimaryBalanceLoopTest, EveryChangeLowersWhatIsTooMuchAndItEnds) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    World world(Spec(2 + static_cast<uint32_t>(random.Below(2))));
    world.check_every_step = false;
    std::map<std::string, double> load, part;
    for (int i = 0; i < kShards; ++i) {
      load[absl::StrCat("s-", i)] = 1 + static_cast<double>(random.Below(100));
      part[absl::StrCat("s-", i)] = static_cast<double>(random.Below(101)) / 100;
    }
    world.load = [&](const std::string& shard, const std::string& server) {
      const bool primary = world.servers[server].held[shard].role == Role::kPrimary;
      return std::vector<MetricAmount>{{"cpu", load[shard] * (primary ? 1 : part[shard])}};
    };
    world.watcher.asks = [&](const Action& action) {
      const auto* note = std::get_if<Note>(&action);
      if (note == nullptr || note->kind != NoteKind::kPrimaryPassesOn) return;
      // As it is decided, so it must be: nobody is beyond the limits who was not before.
      const PartitionState& state = world.partition().state();
      const std::vector<PrimaryChange> more = ChangesForLoad(state, 1'000);
      RoleLoads loads(state);
      for (const PrimaryChange& change : more) {
        const ServerIndex from = state.tables.replica(change.primary).server;
        const ServerIndex to = state.tables.replica(change.next).server;
        const double before = loads.Excess(from) + loads.Excess(to);
        const double at_target = loads.Excess(to);
        loads.Apply(change);
        EXPECT_LT(loads.Excess(from) + loads.Excess(to), before);
        EXPECT_LE(loads.Excess(to), at_target + 1e-6);
      }
    };
    world.Start();
    for (int i = 0; i < 4; ++i) world.Join(absl::StrCat("kv-", i));
    world.Advance(Seconds(2 * 3'600));
    EXPECT_EQ(world.Served(), static_cast<size_t>(kShards));
    world.commands.clear();
    world.Advance(Seconds(4 * 3'600));
    EXPECT_THAT(world.commands, IsEmpty()) << "it comes to rest";
  }
}

}  // namespace
}  // namespace shardmanager::orchestrator
