// The placer over messages: what it promises for any problem, good or bad.
#include "allocator/placer/placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace shardmanager::placer {
namespace {

void AddAmount(google::protobuf::RepeatedPtrField<v1::MetricAmount>* list,
               const std::string& metric, double amount) {
  auto* a = list->Add();
  a->set_metric(metric);
  a->set_amount(amount);
}

v1::PlacementProblem SmallProblem(int servers, int shards, double load) {
  v1::PlacementProblem p;
  p.add_metrics("cpu");
  for (int i = 0; i < servers; ++i) {
    auto* server = p.add_servers();
    server->set_name("server" + std::to_string(i));
    server->set_region(i % 2 == 0 ? "east" : "west");
    AddAmount(server->mutable_capacity(), "cpu", 10);
  }
  for (int i = 0; i < shards; ++i) {
    auto* shard = p.add_shards();
    shard->set_name("shard" + std::to_string(i));
    AddAmount(shard->mutable_load(), "cpu", load);
  }
  return p;
}

v1::PlaceResponse Solve(const v1::PlacementProblem& problem) {
  auto placer = Placer::Make(problem, {});
  EXPECT_TRUE(placer.ok()) << placer.status();
  if (!placer.ok()) return {};
  (*placer)->Improve({.budget = {.steps = 100'000}});
  return (*placer)->Answer();
}

std::string Refusal(const v1::PlacementProblem& problem) {
  return std::string(Placer::Make(problem, {}).status().message());
}

TEST(PlacerTest, PlacesWhatStandsNowhere) {
  const auto plan = Solve(SmallProblem(4, 12, 2.5));
  EXPECT_TRUE(plan.feasible());
  EXPECT_EQ(plan.moves_size(), 12);
  ASSERT_EQ(plan.shards_size(), 12);
  for (const auto& shard : plan.shards()) EXPECT_NE(shard.servers(0), "");
  EXPECT_LE(plan.metrics(0).max_after(), 1);
}

TEST(PlacerTest, FractionsAreNeverRoundedIntoRoomThatIsNotThere) {
  // Ten thirds and a little more do not fit into ten.
  auto problem = SmallProblem(1, 3, 10.0 / 3 + 1e-7);
  EXPECT_FALSE(Solve(problem).feasible());
  problem = SmallProblem(1, 4, 2.5);
  EXPECT_TRUE(Solve(problem).feasible());
}

TEST(PlacerTest, TellsOfAShardLargerThanAnyServer) {
  auto problem = SmallProblem(3, 2, 1);
  problem.mutable_shards(1)->mutable_load(0)->set_amount(11);
  const auto plan = Solve(problem);
  EXPECT_FALSE(plan.feasible());
  bool named = false;
  for (const auto& rule : plan.rules()) {
    for (const std::string& shard : rule.shards()) named |= shard == "shard1";
  }
  EXPECT_TRUE(named) << plan.DebugString();
}

TEST(PlacerTest, KeepsWhatIsPinnedAndEmptiesWhatDrains) {
  auto problem = SmallProblem(4, 4, 1);
  for (auto& shard : *problem.mutable_shards()) shard.add_servers("server0");
  problem.mutable_shards(2)->set_pinned(true);
  problem.mutable_servers(0)->set_draining(true);
  const auto plan = Solve(problem);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(plan.shards(i).servers(0) == "server0", i == 2);
}

TEST(PlacerTest, EveryServerDrainingIsNoCrash) {
  auto problem = SmallProblem(2, 4, 1);
  problem.mutable_shards(0)->add_servers("server0");
  for (auto& server : *problem.mutable_servers()) server.set_draining(true);
  const auto plan = Solve(problem);
  EXPECT_FALSE(plan.feasible());
  EXPECT_EQ(plan.shards(0).servers(0), "server0");
}

TEST(PlacerTest, NamesTheFieldThatIsWrong) {
  auto problem = SmallProblem(2, 2, 1);
  for (int i = 0; i < 10'000; ++i) problem.add_shards()->set_name("same");
  EXPECT_EQ(Refusal(problem),
            "shards[3].name: found \"same\", which is also shards[2].name; "
            "allowed: a name of its own");
  problem = SmallProblem(2, 2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Refusal(problem), testing::StartsWith("shards[0].load[0].amount: found nan"));
  problem = SmallProblem(2, 2, std::numeric_limits<double>::infinity());
  EXPECT_THAT(Refusal(problem), testing::StartsWith("shards[0].load[0].amount: found inf"));
  EXPECT_THAT(Refusal(SmallProblem(0, 1, 1)), testing::StartsWith("servers: found 0 entries"));
  problem = SmallProblem(2, 2, 1);
  problem.mutable_shards(1)->set_replicas(1);
  for (const char* server : {"server0", "server1"}) problem.mutable_shards(1)->add_servers(server);
  EXPECT_EQ(Refusal(problem),
            "shards[1].servers: found 2 entries; allowed: at most 1, as many as replicas");
  problem = SmallProblem(2, 2, 1);
  problem.add_constraints();
  EXPECT_THAT(Refusal(problem), testing::StartsWith("constraints[0]: found no spec"));
  problem.clear_constraints();
  problem.add_goals()->mutable_balance()->set_metric("gpu");
  EXPECT_THAT(Refusal(problem), testing::StartsWith("goals[0].balance.metric: found \"gpu\""));
  problem.mutable_goals(0)->set_priority(8);
  EXPECT_THAT(Refusal(problem), testing::StartsWith("goals[0]: found priority 8"));
  problem.clear_goals();
  problem.add_goals()->mutable_balance()->set_metric("cpu");
  EXPECT_EQ(Refusal(problem), "");
  for (const double weight : {-1.0, 1e10, std::numeric_limits<double>::quiet_NaN()}) {
    problem.mutable_goals(0)->set_weight(weight);
    EXPECT_THAT(Refusal(problem), testing::StartsWith("goals[0]: found priority 1, weight "));
  }
}

TEST(PlacerTest, SameSeedSameAnswer) {
  const auto problem = SmallProblem(5, 40, 0.77);
  EXPECT_EQ(Solve(problem).SerializeAsString(), Solve(problem).SerializeAsString());
}

// ---- Random problems, many of them absurd -------------------------------------------

double RandomAmount(Random& random) {
  constexpr double kOdd[] = {
      0, 1, 1e-300, 1e15, -1, 0.1, 2147483648.0, 1e16, std::numeric_limits<double>::quiet_NaN()};
  if (random.Below(40) == 0) return kOdd[random.Below(std::size(kOdd))];
  if (random.Below(10) == 0) return kOdd[random.Below(4)];
  return static_cast<double>(random.Below(1000)) / 100;
}

void AddRandomLeastLoad(v1::PlacerRule& rule, const std::string& metric, const std::string& scope,
                        double least) {
  rule.mutable_least_load()->set_metric(metric);
  rule.mutable_least_load()->set_scope(scope);
  rule.mutable_least_load()->set_least(least);
}

void AddRandomCompany(v1::PlacerRule& rule, const std::string& scope, Random& random) {
  rule.mutable_company()->set_scope(scope);
  auto& limit = *rule.mutable_company()->add_limits();
  limit.set_shard("shard0");
  limit.set_with("shard1");
  limit.set_most(static_cast<uint32_t>(random.Below(3)));
}

void AddRandomRule(v1::PlacerRule& rule, bool goal, Random& random) {
  constexpr const char* kScopes[] = {"", "server", "rack", "datacenter", "region"};
  const std::string metric = random.Below(2) == 0 ? "cpu" : "disk";
  const std::string scope = random.Below(30) == 0 ? "planet" : kScopes[random.Below(5)];
  const double fraction = static_cast<double>(random.Below(11)) / 10;
  switch (random.Below(13)) {
    case 0:
      rule.mutable_capacity()->set_metric(metric);
      rule.mutable_capacity()->set_scope(scope);
      rule.mutable_capacity()->set_limit(fraction);
      rule.mutable_capacity()->set_transient(random.Below(2) == 0);
      break;
    case 1:
      rule.mutable_utilization()->set_metric(metric);
      rule.mutable_utilization()->set_threshold(fraction);
      break;
    case 2:
      rule.mutable_balance()->set_metric(metric);
      rule.mutable_balance()->set_scope(scope);
      rule.mutable_balance()->set_tolerance(fraction);
      break;
    case 3:
      rule.mutable_exclusion()->set_scope(scope);
      rule.mutable_exclusion()->set_most(static_cast<uint32_t>(random.Below(3)));
      break;
    case 4:
      rule.mutable_spread()->set_scope(scope);
      rule.mutable_spread()->set_least(static_cast<uint32_t>(random.Below(6)));
      break;
    case 5:
      rule.mutable_drain();
      break;
    case 6:
      rule.mutable_region_preference();
      break;
    case 7:
      rule.mutable_move_limit()->set_total(static_cast<uint32_t>(random.Below(5)));
      break;
    case 8:
      AddRandomLeastLoad(rule, metric, scope, 0.1 + fraction / 2);
      break;
    case 9:
      rule.mutable_servers_in_use();
      break;
    case 10:
      AddRandomCompany(rule, scope, random);
      break;
    case 11:
      rule.mutable_move_cost();
      break;
    default:
      rule.mutable_headroom_ratio()->set_metric("cpu");
      rule.mutable_headroom_ratio()->set_with("disk");
  }
  if (goal) rule.set_priority(static_cast<uint32_t>(random.Below(7)));
}

v1::PlacementProblem RandomProblem(Random& random) {
  v1::PlacementProblem p;
  p.add_metrics("cpu");
  p.add_metrics("disk");
  const auto servers = static_cast<int>(random.Below(8));
  for (int i = 0; i < servers; ++i) {
    auto* server = p.add_servers();
    server->set_name("server" + std::to_string(i));
    server->set_region(std::to_string(random.Below(2)));
    server->set_rack(std::to_string(random.Below(2)));
    server->set_draining(random.Below(5) == 0);
    if (random.Below(6) != 0)
      AddAmount(server->mutable_capacity(), "cpu", 5 * RandomAmount(random));
    if (random.Below(6) != 0)
      AddAmount(server->mutable_capacity(), "disk", 5 * RandomAmount(random));
  }
  const auto shards = static_cast<int>(random.Below(20));
  for (int i = 0; i < shards; ++i) {
    auto* shard = p.add_shards();
    shard->set_name("shard" + std::to_string(random.Below(400) == 0 ? 0 : i));
    shard->set_replicas(static_cast<uint32_t>(random.Below(4)));
    AddAmount(shard->mutable_load(), "cpu", RandomAmount(random));
    AddAmount(shard->mutable_load(), "disk", RandomAmount(random));
    for (uint64_t k = random.Below(3); k > 0 && servers > 0; --k) {
      shard->add_servers("server" + std::to_string(random.Below(static_cast<uint64_t>(servers))));
    }
    if (random.Below(3) == 0) shard->set_preferred_region(std::to_string(random.Below(2)));
    shard->set_pinned(random.Below(10) == 0);
    if (random.Below(3) == 0) shard->set_move_cost(static_cast<double>(random.Below(5)));
  }
  for (uint64_t k = random.Below(4); k > 0; --k) AddRandomRule(*p.add_constraints(), false, random);
  for (uint64_t k = random.Below(4); k > 0; --k) AddRandomRule(*p.add_goals(), true, random);
  return p;
}

// By more than rounding: each of some steps may lose what is below the tolerance.
bool IsWorse(const solver::Score& score, const solver::Score& than) {
  for (int l = 0; l < solver::kLevels; ++l) {
    const double difference = score[l] - than[l];
    if (std::abs(difference) > 10 * solver::kTolerance) return difference > 0;
  }
  return false;
}

TEST(PlacerTest, AnyProblemEndsWithAPlanThatIsNoWorseOrWithAnError) {
  int solved = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const v1::PlacementProblem problem = RandomProblem(random);
    auto placer = Placer::Make(problem, {.seed = seed});
    if (!placer.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(placer.status()));
      EXPECT_NE(placer.status().message(), "");
      continue;
    }
    ++solved;
    (*placer)->Improve({.budget = {.steps = 2'000}});
    const solver::Score best = (*placer)->best_score();
    ASSERT_FALSE(IsWorse(best, (*placer)->start_score()));
    const auto plan = (*placer)->Answer();
    ASSERT_EQ(plan.shards_size(), problem.shards_size());
    ASSERT_EQ(plan.feasible(), best[solver::kConstraintLevel] <= solver::kTolerance &&
                                   best[solver::kUnplacedLevel] <= solver::kTolerance);
  }
  EXPECT_GT(solved, 400);
}

// --- What problems can say ----------------------------------------------------------------------

TEST(PlacerLanguageTest, NoGoalsMeansNone) {
  auto problem = SmallProblem(2, 4, 1);
  for (auto& shard : *problem.mutable_shards()) shard.add_servers("server0");
  EXPECT_EQ(Solve(problem).moves_size(), 2) << "balance is a goal if none is named";
  problem.set_no_goals(true);
  EXPECT_EQ(Solve(problem).moves_size(), 0);
  problem.set_no_constraints(true);
  problem.mutable_shards(0)->mutable_load(0)->set_amount(1'000);
  EXPECT_TRUE(Solve(problem).feasible());
}

// One of two shards must leave; the larger one is cheaper to move.
TEST(PlacerLanguageTest, CheapShardsMoveFirst) {
  auto problem = SmallProblem(2, 2, 6);
  problem.mutable_shards(1)->mutable_load(0)->set_amount(7);
  problem.set_no_goals(true);
  for (auto& shard : *problem.mutable_shards()) shard.add_servers("server0");
  for (int cheap : {0, 1}) {
    problem.mutable_shards(cheap)->set_move_cost(10);
    problem.mutable_shards(1 - cheap)->set_move_cost(100);
    const auto plan = Solve(problem);
    ASSERT_EQ(plan.moves_size(), 1);
    EXPECT_EQ(plan.moves(0).shard(), problem.shards(cheap).name());
  }
  problem.mutable_shards(0)->set_move_cost(-1);
  EXPECT_EQ(Refusal(problem), "shards[0].move_cost: found -1; allowed: 0 to 1e15");
}

// Balance saves less than the moves cost.
TEST(PlacerLanguageTest, MovesCountBesideOtherGoals) {
  auto problem = SmallProblem(2, 4, 1);
  for (auto& shard : *problem.mutable_shards()) shard.add_servers("server0");
  problem.add_goals()->mutable_balance()->set_metric("cpu");
  EXPECT_EQ(Solve(problem).moves_size(), 2);
  problem.add_goals()->mutable_move_cost();
  EXPECT_EQ(Solve(problem).moves_size(), 0);
  problem.mutable_goals(1)->set_weight(0.0625);
  const auto plan = Solve(problem);
  EXPECT_EQ(plan.moves_size(), 2);
  ASSERT_EQ(plan.rules_size(), 2);
  EXPECT_EQ(plan.rules(1).rule(), "move_cost");
  EXPECT_EQ(plan.rules(1).level(), "goal 1");
  EXPECT_EQ(plan.rules(1).after(), 0.125);
  problem.add_goals()->mutable_move_cost();
  EXPECT_EQ(Refusal(problem), "goals[2].move_cost: found a second one; allowed: once");
}

TEST(PlacerLanguageTest, ServersCarryAtLeastTheirPart) {
  auto problem = SmallProblem(3, 6, 2);
  for (auto& shard : *problem.mutable_shards()) shard.add_servers("server0");
  problem.set_no_goals(true);
  auto& least = *problem.add_constraints()->mutable_least_load();
  least.set_metric("cpu");
  EXPECT_THAT(Refusal(problem),
              testing::HasSubstr("constraints[0].least_load.least: found 0; allowed: above 0"));
  least.set_least(0.4);
  const auto plan = Solve(problem);
  EXPECT_TRUE(plan.feasible());
  EXPECT_EQ(plan.moves_size(), 4);
}

TEST(PlacerLanguageTest, EmptiesTheDearestServers) {
  auto problem = SmallProblem(3, 6, 2);
  for (int i = 0; i < 6; ++i) {
    problem.mutable_shards(i)->add_servers("server" + std::to_string(i % 3));
  }
  problem.mutable_servers(1)->set_cost(5);
  problem.add_goals()->mutable_servers_in_use();
  const auto plan = Solve(problem);
  EXPECT_TRUE(plan.feasible());
  for (const auto& shard : plan.shards()) EXPECT_NE(shard.servers(0), "server1");
}

TEST(PlacerLanguageTest, SomeShardsDoNotStandTogether) {
  auto problem = SmallProblem(2, 3, 1);
  for (auto& shard : *problem.mutable_shards()) shard.add_servers("server0");
  problem.set_no_goals(true);
  auto& limit = *problem.add_constraints()->mutable_company()->add_limits();
  limit.set_shard("shard0");
  limit.set_with("shard9");
  EXPECT_EQ(
      Refusal(problem),
      "constraints[0].company.limits[0].with: found \"shard9\"; allowed: the name of a shard");
  limit.set_with("shard0");
  EXPECT_EQ(Refusal(problem),
            "constraints[0].company.limits[0].with: found \"shard0\"; allowed: another shard than "
            "`shard`");
  limit.set_with("shard2");
  const auto plan = Solve(problem);
  EXPECT_TRUE(plan.feasible());
  EXPECT_NE(plan.shards(0).servers(0), plan.shards(2).servers(0));
  EXPECT_EQ(plan.moves_size(), 1);
}

TEST(PlacerLanguageTest, AShardSaysHowManyOfItShareAServer) {
  auto problem = SmallProblem(2, 2, 1);
  for (auto& shard : *problem.mutable_shards()) shard.set_replicas(4);
  problem.mutable_shards(0)->set_most_per_server(2);
  problem.mutable_shards(1)->set_most_per_server(3);
  EXPECT_TRUE(Solve(problem).feasible());
  problem.mutable_shards(1)->clear_most_per_server();
  EXPECT_FALSE(Solve(problem).feasible());
  problem.add_constraints()->mutable_capacity()->set_metric("cpu");
  EXPECT_EQ(Refusal(problem),
            "shards[0].most_per_server: found 2 without a rule that reads it; allowed: beside an "
            "`exclusion` of scope server");
}

TEST(PlacerLanguageTest, RulesWithoutAMetricHoldForEach) {
  auto problem = SmallProblem(2, 2, 1);
  problem.add_metrics("disk");
  for (auto& server : *problem.mutable_servers()) AddAmount(server.mutable_capacity(), "disk", 10);
  for (auto& shard : *problem.mutable_shards()) {
    AddAmount(shard.mutable_load(), "disk", 10);
    shard.add_servers("server0");
  }
  problem.set_no_goals(true);
  problem.add_constraints()->mutable_capacity()->set_metric("cpu");
  EXPECT_EQ(Solve(problem).moves_size(), 0);
  problem.mutable_constraints(0)->mutable_capacity()->clear_metric();
  EXPECT_EQ(Solve(problem).moves_size(), 1);
  problem.clear_constraints();
  problem.set_no_constraints(true);
  problem.set_no_goals(false);
  for (const bool balance : {true, false}) {
    problem.clear_goals();
    auto& goal = *problem.add_goals();
    if (balance) goal.mutable_balance();
    if (!balance) goal.mutable_utilization();
    EXPECT_EQ(Solve(problem).moves_size(), 1);
  }
}

// Load as a curve over a day, and more replicas than servers of a rack.
TEST(PlacerLanguageTest, HundredsOfMetricsAndOfReplicas) {
  auto problem = SmallProblem(40, 20, 0.1);
  for (int m = 1; m < 300; ++m) {
    const std::string metric = "hour" + std::to_string(m);
    problem.add_metrics(metric);
    for (auto& server : *problem.mutable_servers()) {
      AddAmount(server.mutable_capacity(), metric, 10);
    }
    for (int i = 0; i < 20; ++i) {
      AddAmount(problem.mutable_shards(i)->mutable_load(), metric, (i * 37 + m) % 10);
    }
  }
  EXPECT_TRUE(Solve(problem).feasible());
  problem = SmallProblem(40, 1, 0.01);
  problem.mutable_shards(0)->set_replicas(800);
  problem.mutable_shards(0)->set_most_per_server(20);
  EXPECT_TRUE(Solve(problem).feasible());
  problem.mutable_shards(0)->set_replicas(10'001);
  EXPECT_EQ(Refusal(problem), "shards[0].replicas: found 10001; allowed: 1 to 10000");
}

}  // namespace
}  // namespace shardmanager::placer
