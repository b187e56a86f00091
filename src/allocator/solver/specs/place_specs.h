// Single containers and objects: what is to be emptied, where something must or must
// not be, and what a move costs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// These containers should be empty. Cost: 1 for each object there. (Problem::closed
// keeps new ones out.)
struct DrainSpec {
  std::vector<ContainerId> containers;

  absl::Status AddTo(Model& model, Rank rank) const;
};

// Objects that must stand in one of some domains, or (avoid) in none of them. Cost: 1
// for each that does not.
struct PinSpec {
  std::string scope = "server";
  std::unordered_map<uint32_t, std::vector<DomainId>> domains;  // by object
  bool avoid = false;
  std::string name;  // OPTIONAL. Of the rule. Default: "pin(<scope>)", or "avoid(<scope>)"

  absl::Status AddTo(Model& model, Rank rank) const;
};

// What it costs to move. The rank's level is ignored unless it is a goal of its own:
// without this spec each move costs 1 at the lowest level of all.
struct MoveCostSpec {
  Table<ObjectId, double> cost;  // OPTIONAL. Default: 1 each
  double within_group = 0.1;     // see MovementRule

  absl::Status AddTo(Model& model, Rank rank) const;
};

inline constexpr char kMoveLimitRule[] = "move limit";

// Most objects that may be away from their starts. Each above a limit costs 1. Objects
// that start nowhere do not count: they have to be put somewhere in any case.
struct MoveLimitSpec {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t total = kNone;
  uint32_t per_container = kNone;  // objects that left it, and objects that came
  uint32_t per_group = kNone;
  // OPTIONAL. One for each container: whether objects that start there count. Default: all.
  Table<ContainerId, bool> counted;
  // OPTIONAL. One for each container: moves that touch it already, and count.
  Table<ContainerId, uint32_t> under_way;

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
