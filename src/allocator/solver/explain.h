// Why: what speaks for and against an object at a place, and what is still broken.
// Asked of the same rules that the search goes by, so that they cannot disagree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/solver/state.h"

namespace shardmanager::solver {

enum class RuleFamily : uint8_t { kClosed, kLoad, kGroup, kContainer, kObject, kCustom, kMovement };

struct Reason {
  RuleFamily family;
  std::string rule;  // its name. Example: "capacity(server, cpu)"
  int level = 0;
  // What the object costs there by this rule: positive against, negative for.
  double amount = 0;
  std::string metric = "";  // of a rule about loads
};

// All reasons that are not zero, those of the highest level first. The state is as
// before.
std::vector<Reason> Explain(State& state, ObjectId o, ContainerId at);

// How many containers refuse an object, by the constraint that does (one that refuses
// for two is counted at both). The most frequent first.
struct Refusal {
  RuleFamily family;
  std::string rule;
  uint32_t containers = 0;
  // Of these, the ones that refuse for nothing else.
  uint32_t alone = 0;
};
std::vector<Refusal> WhyNowhere(State& state, ObjectId o);
// The same, of these containers alone.
std::vector<Refusal> WhyNot(State& state, ObjectId o, const std::vector<ContainerId>& at);

// A rule that has something to pay.
struct Violation {
  std::string rule;
  int level = 0;
  double amount = 0;
  uint32_t places = 0;            // domains or groups that pay
  std::string worst;              // the one that pays most. Example: "rack r12"
  std::string help;               // what would. Example: "all servers together lack 3 % of cpu"
  std::vector<ObjectId> objects;  // concerned ones, some
};
// Constraints first. Empty: nothing is broken. Movement is listed only where it is a goal.
std::vector<Violation> ListViolations(State& state);

// "region preference", or the like, is the caller's to say: this is "constraint",
// "unplaced", "goal 1", ..., "movement".
std::string LevelName(int level);

}  // namespace shardmanager::solver
