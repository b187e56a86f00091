// Bad input is refused with the name of the field, or taken for what it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "allocator/placement/placement.h"
#include "allocator/solver/specs/all.h"
#include "base/random.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const absl::Status& status, const std::string& field) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  EXPECT_THAT(std::string(status.message()), HasSubstr("allowed"));
}

Problem Good() {
  return SmallFleet().Server(9).Server(9).Group({{{1}, 0}, {{1}, 1}}).Objects({{{1}}}).Make();
}

void ExpectProblemRefused(const std::function<void(Problem&)>& spoil, const std::string& field) {
  Problem p = Good();
  spoil(p);
  ExpectRefused(p.Validate(), field);
}

TEST(ProblemRefusalTest, NamesTheFieldWhoseSizeIsWrong) {
  ExpectProblemRefused([](Problem& p) { p.capacity.pop_back(); }, "capacity");
  ExpectProblemRefused([](Problem& p) { p.base_usage = {1}; }, "base_usage");
  ExpectProblemRefused([](Problem& p) { p.load.push_back(1); }, "load");
  ExpectProblemRefused([](Problem& p) { p.start.push_back(ContainerId(0)); }, "start");
  ExpectProblemRefused([](Problem& p) { p.closed.push_back(true); }, "closed");
  ExpectProblemRefused([](Problem& p) { p.pinned.push_back(true); }, "pinned");
  ExpectProblemRefused([](Problem& p) { p.scopes[0].domain_of.push_back(DomainId(0)); }, "rack");
  ExpectProblemRefused([](Problem& p) { p.group_begin.pop_back(); }, "group_begin");
  ExpectProblemRefused([](Problem& p) { p.group_begin.clear(); }, "group_begin");
}

TEST(ProblemRefusalTest, NamesTheFieldWhoseValueIsWrong) {
  ExpectProblemRefused([](Problem& p) { p.capacity[1] = -1; }, "capacity[1]");
  ExpectProblemRefused([](Problem& p) { p.capacity[0] = INT64_MAX; }, "capacity[0]");
  ExpectProblemRefused([](Problem& p) { p.base_usage = {0, -5}; }, "base_usage[1]");
  ExpectProblemRefused([](Problem& p) { p.base_usage = {0, INT64_MAX}; }, "base_usage[1]");
  ExpectProblemRefused([](Problem& p) { p.load[2] = -1; }, "load[2]");
  ExpectProblemRefused([](Problem& p) { p.start[ObjectId(0)] = ContainerId(2); }, "start");
  ExpectProblemRefused([](Problem& p) { p.group_begin = {0, 3, 2, 3}; }, "group_begin");
  ExpectProblemRefused([](Problem& p) { p.scopes[1].domain_of[ContainerId(0)] = DomainId(7); },
                       "region");
  ExpectProblemRefused([](Problem& p) { p.containers = UINT32_MAX; }, "size");
}

template <typename Spec>
void ExpectSpecRefused(const Spec& spec, const std::string& field) {
  const Problem p = Good();
  Model model(p);
  ExpectRefused(model.AddConstraint(spec), field);
  ExpectRefused(model.AddGoal(spec, {}), field);
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(SpecRefusalTest, NamesAMetricOrScopeThatIsNotThere) {
  ExpectSpecRefused(CapacitySpec{.metric = "cup"}, "metric");
  ExpectSpecRefused(CapacitySpec{.scope = "rick", .metric = "cpu"}, "scope");
  ExpectSpecRefused(UtilizationSpec{.metric = ""}, "metric");
  ExpectSpecRefused(BalanceSpec{.metric = "cpu", .within = "planet"}, "scope");
  ExpectSpecRefused(SpreadSpec{.scope = ""}, "scope");
  ExpectSpecRefused(ExclusionSpec{.scope = "bay"}, "scope");
  ExpectSpecRefused(PinSpec{.scope = "bay", .domains = {}}, "scope");
}

TEST(SpecRefusalTest, NamesTheFieldWhoseValueIsWrong) {
  ExpectSpecRefused(CapacitySpec{.metric = "cpu", .limit = kNaN}, "capacity.limit");
  ExpectSpecRefused(CapacitySpec{.metric = "cpu", .limit = -0.1}, "capacity.limit");
  ExpectSpecRefused(UtilizationSpec{.metric = "cpu", .threshold = 2}, "utilization.threshold");
  ExpectSpecRefused(BalanceSpec{.metric = "cpu", .tolerance = -1}, "balance.tolerance");
  ExpectSpecRefused(BalanceSpec{.metric = "cpu", .tolerance = kNaN}, "balance.tolerance");
  ExpectSpecRefused(DrainSpec{.containers = {ContainerId(2)}}, "drain.containers");
  ExpectSpecRefused(PinSpec{.domains = {{3, {DomainId(0)}}}}, "pin.domains");
  ExpectSpecRefused(PinSpec{.domains = {{0, {DomainId(2)}}}}, "pin.domains");
  ExpectSpecRefused(AffinitySpec{.scope = "rack", .domain = {}}, "affinity.domain");
  Table<GroupId, DomainId> far(2, DomainId(5));
  ExpectSpecRefused(AffinitySpec{.scope = "rack", .domain = far}, "affinity.domain");
  const Table<GroupId, DomainId> near(2, DomainId(0));
  for (double weight : {0.0, -1.0, kNaN, 1e7}) {
    const Table<GroupId, double> weights(2, weight);
    ExpectSpecRefused(AffinitySpec{.scope = "rack", .domain = near, .weight_of_group = weights},
                      "affinity.weight_of_group");
  }
  ExpectSpecRefused(ExclusionSpec{.most_of_group = Table<GroupId, uint32_t>(7)}, "exclusion");
  for (Amount limit : {Amount{-1}, kUnlimited + 1}) {
    const Table<DomainId, Amount> limits(2, limit);
    ExpectSpecRefused(OverageSpec{.metric = "cpu", .limit = limits}, "overage.limit");
  }
  ExpectSpecRefused(MoveCostSpec{.cost = Table<ObjectId, double>(3, kNaN)}, "move_cost.cost");
  ExpectSpecRefused(MoveCostSpec{.cost = Table<ObjectId, double>(3, -1)}, "move_cost.cost");
  ExpectSpecRefused(MoveCostSpec{.cost = Table<ObjectId, double>(9)}, "move_cost.cost");
}

TEST(SpecRefusalTest, NamesARankThatIsWrong) {
  const Problem p = Good();
  Model model(p);
  for (const GoalRank& rank :
       {GoalRank{.priority = 0}, GoalRank{.priority = kGoals + 1}, GoalRank{.weight = 0},
        GoalRank{.weight = kNaN}, GoalRank{.weight = -1}}) {
    ExpectRefused(model.AddGoal(DrainSpec{}, rank), "goal");
  }
}

allocator::PlacementInput GoodInput() {
  allocator::PlacementInput in;
  in.metrics = {{.name = "cpu"}};
  in.servers = {{}, {}};
  in.capacity = {1, 1};
  in.shard_begin = {0, 2};
  in.server_of = {0, 0};
  in.load = {0.2, 0.2};
  return in;
}

void ExpectInputRefused(const std::function<void(allocator::PlacementInput&)>& spoil,
                        const std::string& field) {
  allocator::PlacementInput in = GoodInput();
  spoil(in);
  ExpectRefused(allocator::PlacementModel::Make(in).status(), field);
}

TEST(PlacementRefusalTest, NamesTheFieldThatIsWrong) {
  using In = allocator::PlacementInput;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ExpectInputRefused([](In& in) { in.load[1] = kNaN; }, "load[1][0]");
  ExpectInputRefused([](In& in) { in.load[1] = -1; }, "load[1][0]");
  ExpectInputRefused([](In& in) { in.load[0] = kInfinity; }, "load[0][0]");
  ExpectInputRefused([](In& in) { in.load[0] = 1e300; }, "load[0][0]");
  ExpectInputRefused([](In& in) { in.capacity[1] = kNaN; }, "capacity[1][0]");
  ExpectInputRefused([](In& in) { in.capacity[1] = -0.5; }, "capacity[1][0]");
  ExpectInputRefused([](In& in) { in.capacity.clear(); }, "capacity");
  ExpectInputRefused([](In& in) { in.other_load = {1}; }, "other_load");
  ExpectInputRefused([](In& in) { in.shard_begin = {0, 3}; }, "shard_begin");
  ExpectInputRefused([](In& in) { in.shard_begin.clear(); }, "shard_begin");
  ExpectInputRefused([](In& in) { in.shard_begin = std::vector<uint32_t>(); }, "shard_begin");
  ExpectInputRefused([](In& in) { in.server_of[0] = 2; }, "server_of");
  ExpectInputRefused([](In& in) { in.preferred_region = {0, 0}; }, "preferred_region");
  ExpectInputRefused([](In& in) { in.pinned = {true}; }, "pinned");
  ExpectInputRefused([](In& in) { in.metrics[0].threshold = kNaN; }, "metrics[0].threshold");
  ExpectInputRefused([](In& in) { in.metrics[0].tolerance = -1; }, "metrics[0].tolerance");
  ExpectInputRefused([](In& in) { in.metrics[0].name = ""; }, "metrics[0].name");
  ExpectInputRefused(
      [](In& in) {
        in.metrics.push_back(in.metrics[0]);
        in.capacity = {1, 1, 1, 1};
      },
      "metrics[1].name");
}

// Values at the edges of what is allowed: an answer, and no worse than the start.
TEST(PlacementTest, TakesZeroHugeAndUnlimitedAmounts) {
  const double edges[] = {0, 1e-300, 1, 1e15, std::numeric_limits<double>::infinity()};
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    allocator::PlacementInput in = GoodInput();
    in.metrics[0].even = random.Below(2) == 0;
    in.metrics[0].tolerance = random.Below(2) == 0 ? 0 : 1e6;
    for (double& c : in.capacity) c = edges[random.Below(5)];
    for (double& l : in.load) l = edges[random.Below(4)];
    in.other_load = {edges[random.Below(4)], 0};
    in.server_of[0] = random.Below(3) == 0 ? allocator::kNowhere : 1;
    in.preferred_region = {random.Below(2) == 0 ? allocator::kNoPreference : 12345u};
    const auto placement = allocator::PlacementModel::Make(in);
    ASSERT_TRUE(placement.ok()) << placement.status();
    Search search((*placement)->model(), {});
    const Score before = search.BestScore();
    for (int l = 0; l < kLevels; ++l) ASSERT_TRUE(std::isfinite(before[l])) << i;
    search.Descend();
    ASSERT_FALSE(before.BetterThan(search.BestScore())) << i;
  }
}

}  // namespace
}  // namespace shardmanager::solver
