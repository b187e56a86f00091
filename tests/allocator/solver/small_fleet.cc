#include "tests/allocator/solver/small_fleet.h"

#include <cmath>

#include "allocator/solver/specs/all.h"
#include "base/check.h"
#include "base/random.h"

namespace shardmanager::solver {

SmallFleet::SmallFleet(std::vector<std::string> metrics) {
  for (auto& name : metrics) problem_.metrics.push_back(std::move(name));
  for (const char* name : {"rack", "region"}) {
    problem_.scopes.push_back({.name = name, .domain_of = {}, .names = {}, .domains = 0});
  }
  problem_.group_begin = {0};
}

SmallFleet& SmallFleet::Server(Amount capacity, uint32_t rack, uint32_t region) {
  return ServerOf(std::vector<Amount>(problem_.metrics.size(), capacity), rack, region);
}

SmallFleet& SmallFleet::ServerOf(const std::vector<Amount>& capacities, uint32_t rack,
                                 uint32_t region) {
  problem_.capacity.insert(problem_.capacity.end(), capacities.begin(), capacities.end());
  const uint32_t domains[] = {rack, region};
  for (size_t s = 0; s < 2; ++s) {
    Scope& scope = problem_.scopes[s];
    scope.domain_of.push_back(DomainId(domains[s]));
    scope.domains = std::max(scope.domains, domains[s] + 1);
  }
  problem_.closed.push_back(false);
  ++problem_.containers;
  return *this;
}

SmallFleet& SmallFleet::Group(const std::vector<Item>& items) {
  for (const Item& item : items) {
    problem_.load.insert(problem_.load.end(), item.load.begin(), item.load.end());
    problem_.start.push_back(item.start == kNowhere ? ContainerId()
                                                    : ContainerId(static_cast<size_t>(item.start)));
    problem_.pinned.push_back(false);
    ++problem_.objects;
  }
  problem_.group_begin.push_back(problem_.objects);
  return *this;
}

SmallFleet& SmallFleet::Objects(const std::vector<Item>& items) {
  for (const Item& item : items) Group({item});
  return *this;
}

SmallFleet& SmallFleet::Closed() {
  problem_.closed[ContainerId(problem_.containers - 1)] = true;
  return *this;
}

SmallFleet& SmallFleet::Pinned() {
  problem_.pinned[ObjectId(problem_.objects - 1)] = true;
  return *this;
}

Problem SmallFleet::Make() const {
  const absl::Status valid = problem_.Validate();
  SM_CHECK(valid.ok(), valid.ToString().c_str());
  return problem_;
}

Score CostOf(const Model& model) { return State(model).Total(); }

Problem StartingAt(const Problem& problem, const Table<ObjectId, ContainerId>& where) {
  Problem next = problem;
  next.start = where;
  return next;
}

Problem RandomFleet(uint64_t seed, uint32_t servers, uint32_t objects, double load) {
  Random random(seed);
  SmallFleet fleet({"cpu", "memory"});
  std::vector<std::vector<Load>> loads(objects);
  double total = 0;
  for (auto& l : loads) {
    for (int m = 0; m < 2; ++m) {
      l.push_back(static_cast<Load>(1'000 * std::pow(10, random.Fraction())));
    }
    total += l[0];
  }
  const auto capacity = static_cast<Amount>(total / load / servers) + 1;
  for (uint32_t s = 0; s < servers; ++s) fleet.Server(capacity, s / 2, s % 3);
  for (size_t next = 0; next < objects;) {
    std::vector<Item> group;
    const size_t end = std::min<size_t>(objects, next + 1 + random.Below(3));
    for (; next < end; ++next) {
      const bool nowhere = random.Below(20) == 0;
      group.push_back({loads[next], nowhere ? kNowhere : static_cast<int>(random.Below(servers))});
    }
    fleet.Group(group);
  }
  return fleet.Make();
}

void AddEverything(Model& model) {
  const auto must = [](const absl::Status& status) {
    SM_CHECK(status.ok(), status.ToString().c_str());
  };
  AffinitySpec preference{.scope = "region", .domain = {}, .objects_of_group = {}};
  for (uint32_t g = 0; g < model.problem().groups(); ++g) {
    preference.domain.push_back(g % 3 == 0 ? DomainId(g % 2) : DomainId());
  }
  must(model.AddConstraint(ExclusionSpec{}));
  must(model.AddGoal(preference, {.priority = 1}));
  must(model.AddGoal(SpreadSpec{.scope = "region", .least = 3}, {.priority = 2}));
  must(model.AddGoal(DrainSpec{.containers = {ContainerId(0)}}, {.priority = 3}));
  for (const char* metric : {"cpu", "memory"}) {
    must(model.AddConstraint(CapacitySpec{.metric = metric}));
    must(model.AddGoal(UtilizationSpec{.metric = metric}, {.priority = 4}));
    must(model.AddGoal(BalanceSpec{.metric = metric}, {.priority = 5}));
  }
}

}  // namespace shardmanager::solver
