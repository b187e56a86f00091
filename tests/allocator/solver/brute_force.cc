#include "tests/allocator/solver/brute_force.h"

#include <algorithm>
#include <cmath>

#include "allocator/solver/specs/all.h"
#include "base/check.h"
#include "base/random.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

constexpr int kMostServers = 4;

double Over(double usage, double limit, double capacity) {
  return usage > limit ? (usage - limit) / std::max(1.0, capacity) : 0;
}

size_t Index(int i) { return static_cast<size_t>(i); }

// Limits are whole numbers, as loads are.
double Whole(double limit) { return std::floor(limit); }

void PriceLoads(const RandomProblem& rp, const Places& places, Score& score) {
  const Problem& p = rp.problem;
  const size_t metrics = p.metrics.size();
  for (size_t m = 0; m < metrics; ++m) {
    double usage[kMostServers] = {};
    double in_flight[kMostServers] = {};
    double load = 0;
    double open_capacity = 0;
    for (uint32_t o = 0; o < p.objects; ++o) {
      const double l = p.load[o * metrics + m];
      const ContainerId start = p.start[ObjectId(o)];
      load += l;
      if (places[o] >= 0) usage[places[o]] += l;
      if (start.valid() && static_cast<int>(start.index()) != places[o]) {
        in_flight[start.index()] += l;
      }
    }
    for (uint32_t s = 0; s < p.containers; ++s) {
      if (!p.closed[ContainerId(s)]) {
        open_capacity += static_cast<double>(p.capacity[s * metrics + m]);
      }
    }
    for (uint32_t s = 0; s < p.containers; ++s) {
      const auto capacity = static_cast<double>(p.capacity[s * metrics + m]);
      const double held = usage[s] + (rp.wishes.transient ? in_flight[s] : 0);
      score[kConstraintLevel] += Over(held, capacity, capacity);
      score[GoalLevel(4)] += Over(usage[s], Whole(capacity * rp.wishes.threshold), capacity);
      const double share = p.closed[ContainerId(s)] ? 0 : load / open_capacity * capacity;
      score[GoalLevel(5)] += Over(usage[s], Whole(share * (1 + rp.wishes.tolerance)), capacity);
    }
  }
}

void PriceGroups(const RandomProblem& rp, const Places& places, Score& score) {
  const Problem& p = rp.problem;
  for (uint32_t g = 0; g < p.groups(); ++g) {
    int on_server[kMostServers] = {};
    uint32_t racks = 0;
    bool in_region = false;
    for (uint32_t o = p.group_begin[g]; o < p.group_begin[g + 1]; ++o) {
      if (places[o] < 0) continue;
      const ContainerId at(Index(places[o]));
      ++on_server[places[o]];
      racks |= 1u << p.scopes[0].domain_of[at].index();
      in_region |= static_cast<int>(p.scopes[1].domain_of[at].index()) == rp.wishes.region[g];
    }
    if (rp.wishes.one_per_server) {
      for (int n : on_server) score[kConstraintLevel] += std::max(0, n - 1);
    }
    if (rp.wishes.region[g] >= 0 && !in_region) score[GoalLevel(1)] += 1;
    const int wanted = std::min<int>(2, static_cast<int>(p.group_begin[g + 1] - p.group_begin[g]));
    if (rp.wishes.spread_racks) {
      score[GoalLevel(2)] += std::max(0, wanted - __builtin_popcount(racks));
    }
  }
}

void PriceObjects(const RandomProblem& rp, const Places& places, Score& score) {
  const Problem& p = rp.problem;
  for (uint32_t g = 0; g < p.groups(); ++g) {
    for (uint32_t o = p.group_begin[g]; o < p.group_begin[g + 1]; ++o) {
      if (places[o] < 0) {
        score[kUnplacedLevel] += 1;
        continue;
      }
      const ContainerId at(Index(places[o]));
      const ContainerId start = p.start[ObjectId(o)];
      const auto& only_on = rp.wishes.only_on[o];
      const bool allowed =
          only_on.empty() || std::find(only_on.begin(), only_on.end(), places[o]) != only_on.end();
      if (!allowed) score[kConstraintLevel] += 1;
      if (p.closed[at] && at != start) score[kConstraintLevel] += 1;
      if (rp.wishes.draining[at.index()]) score[GoalLevel(3)] += 1;
      if (!start.valid() || start == at) continue;
      // Where others of the group start, places are traded and no data moves.
      double movement = 1;
      for (uint32_t other = p.group_begin[g]; other < p.group_begin[g + 1]; ++other) {
        if (p.start[ObjectId(other)] == at) movement *= 0.1;
      }
      score[kMovementLevel] += movement;
    }
  }
}

std::vector<std::vector<int>> Choices(const Problem& p) {
  std::vector<std::vector<int>> choices(p.objects);
  for (uint32_t o = 0; o < p.objects; ++o) {
    const ContainerId start = p.start[ObjectId(o)];
    if (p.pinned[ObjectId(o)]) {
      choices[o] = {start.valid() ? static_cast<int>(start.index()) : kNowhere};
      continue;
    }
    for (uint32_t s = 0; s < p.containers; ++s) {
      const ContainerId c(s);
      // Nothing may be put on a closed server.
      if (!p.closed[c] || c == start) choices[o].push_back(static_cast<int>(s));
    }
    if (!start.valid()) choices[o].push_back(kNowhere);
  }
  return choices;
}

}  // namespace

Score PriceOf(const RandomProblem& rp, const Places& places) {
  Score score;
  PriceLoads(rp, places, score);
  PriceGroups(rp, places, score);
  PriceObjects(rp, places, score);
  return score;
}

Places BestPlaces(const RandomProblem& rp) {
  const auto choices = Choices(rp.problem);
  std::vector<size_t> digit(rp.problem.objects, 0);
  Places places(rp.problem.objects);
  Places best;
  Score best_price;
  while (true) {
    for (size_t o = 0; o < places.size(); ++o) places[o] = choices[o][digit[o]];
    const Score price = PriceOf(rp, places);
    if (best.empty() || price.BetterThan(best_price)) {
      best = places;
      best_price = price;
    }
    size_t o = 0;
    while (o < digit.size() && ++digit[o] == choices[o].size()) digit[o++] = 0;
    if (o == digit.size()) return best;
  }
}

RandomProblem MakeRandomProblem(uint64_t seed) {
  Random random(seed);
  const auto chance = [&](double part) { return random.Fraction() < part; };
  const auto servers = static_cast<int>(2 + random.Below(3));
  const size_t objects = 3 + random.Below(5);
  const size_t metrics = 1 + random.Below(3);
  const double fill = 0.3 + 0.7 * random.Fraction();
  std::vector<std::string> names = {"cpu", "memory", "disk"};
  names.resize(metrics);
  std::vector<std::vector<Load>> loads(objects);
  std::vector<double> total(metrics, 0);
  for (auto& load : loads) {
    for (size_t m = 0; m < metrics; ++m) {
      load.push_back(static_cast<Load>(10 * std::pow(10, random.Fraction())));
      total[m] += load.back();
    }
  }
  RandomProblem made;
  SmallFleet fleet(names);
  for (int s = 0; s < servers; ++s) {
    std::vector<Amount> capacity;
    for (double t : total) {
      const double part = chance(0.3) ? 0.5 + random.Fraction() : 1;
      capacity.push_back(static_cast<Amount>(t / fill / servers * part) + 1);
    }
    fleet.ServerOf(capacity, static_cast<uint32_t>(s) / 2, static_cast<uint32_t>(s) % 2);
    made.wishes.draining.push_back(chance(0.1));
    if (made.wishes.draining.back() || chance(0.05)) fleet.Closed();
  }
  const double nowhere = chance(0.5) ? 0.2 : 0;
  for (size_t next = 0; next < objects;) {
    const size_t end = std::min<size_t>(objects, next + 1 + random.Below(3));
    std::vector<Item> group;
    for (; next < end; ++next) {
      const auto start = static_cast<int>(random.Below(Index(servers)));
      group.push_back({loads[next], chance(nowhere) ? kNowhere : start});
      made.wishes.only_on.emplace_back();
      if (chance(0.05))
        made.wishes.only_on.back() = {static_cast<int>(random.Below(Index(servers)))};
    }
    fleet.Group(group);
    if (chance(0.05) && group.back().start != kNowhere) fleet.Pinned();
    made.wishes.region.push_back(chance(0.4) ? static_cast<int>(random.Below(2)) : -1);
  }
  made.problem = fleet.Make();
  made.wishes.transient = chance(0.2);
  made.wishes.one_per_server = chance(0.8);
  made.wishes.spread_racks = chance(0.6);
  return made;
}

void AddWishes(const Wishes& wishes, Model& model) {
  const auto must = [](const absl::Status& s) { SM_CHECK(s.ok(), s.ToString().c_str()); };
  AffinitySpec region{.scope = "region", .domain = {}, .objects_of_group = {}};
  for (int r : wishes.region) {
    const bool wished = r >= 0 && Index(r) < model.problem().scopes[1].domains;
    region.domain.push_back(wished ? DomainId(Index(r)) : DomainId());
  }
  PinSpec pin;
  for (uint32_t o = 0; o < wishes.only_on.size(); ++o) {
    for (int s : wishes.only_on[o]) pin.domains[o].push_back(DomainId(Index(s)));
  }
  DrainSpec drain;
  for (size_t s = 0; s < wishes.draining.size(); ++s) {
    if (wishes.draining[s]) drain.containers.push_back(ContainerId(s));
  }
  if (wishes.one_per_server) must(model.AddConstraint(ExclusionSpec{}));
  must(model.AddConstraint(pin));
  must(model.AddGoal(region, {.priority = 1}));
  if (wishes.spread_racks) must(model.AddGoal(SpreadSpec{.scope = "rack"}, {.priority = 2}));
  must(model.AddGoal(drain, {.priority = 3}));
  for (const std::string& metric : model.problem().metrics) {
    must(model.AddConstraint(CapacitySpec{.metric = metric, .transient = wishes.transient}));
    must(model.AddGoal(UtilizationSpec{.metric = metric, .threshold = wishes.threshold},
                       {.priority = 4}));
    must(model.AddGoal(BalanceSpec{.metric = metric, .tolerance = wishes.tolerance},
                       {.priority = 5}));
  }
}

}  // namespace shardmanager::solver
