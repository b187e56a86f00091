// Problems small enough to be worked out by hand, or by trying everything.
#pragma once

#include <string>
#include <vector>

#include "allocator/solver/model.h"
#include "allocator/solver/search.h"

namespace shardmanager::solver {

inline constexpr int kNowhere = -1;

struct Item {
  std::vector<Load> load;  // one for each metric
  int start = kNowhere;    // server
};

class SmallFleet {
 public:
  explicit SmallFleet(std::vector<std::string> metrics = {"cpu"});

  // The capacity is that of each metric.
  SmallFleet& Server(Amount capacity, uint32_t rack = 0, uint32_t region = 0);
  SmallFleet& ServerOf(const std::vector<Amount>& capacities, uint32_t rack = 0,
                       uint32_t region = 0);
  SmallFleet& Group(const std::vector<Item>& items);
  // Each is a group of its own.
  SmallFleet& Objects(const std::vector<Item>& items);

  // Mark the server, or the object, added last.
  SmallFleet& Closed();
  SmallFleet& Pinned();

  // Validated: a mistake in a test ends it.
  Problem Make() const;

 private:
  Problem problem_;
};

// The level of goals of that priority.
inline constexpr int GoalLevel(int priority) { return kFirstGoalLevel + priority - 1; }

// What it costs as it starts.
Score CostOf(const Model& model);

// The same problem, but everything starts where it stands.
Problem StartingAt(const Problem& problem, const Table<ObjectId, ContainerId>& where);

// A problem with skewed loads, racks, regions and groups of up to three, random starts
// (some nowhere) and about that part of all capacity in use. Two metrics.
Problem RandomFleet(uint64_t seed, uint32_t servers, uint32_t objects, double load);

// Constraints and goals of many kinds for it.
void AddEverything(Model& model);

}  // namespace shardmanager::solver
