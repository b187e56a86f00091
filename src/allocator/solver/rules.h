// What specs come down to: a few families of rules that the search knows by heart,
// and one that is open. Each says what it costs to put an object somewhere, given
// where everything else is.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/solver/problem.h"
#include "allocator/solver/score.h"

namespace shardmanager::solver {

// Where a rule counts.
struct Rank {
  int level = kConstraintLevel;
  double weight = 1;
};

// A dimension in which usage is summed: a metric; `sticky`: an object that leaves its
// start still counts there (its load while the move is in flight).
struct Dimension {
  MetricId metric;
  bool sticky = false;
};

// Cost: sum over the scope's domains of scale * max(0, usage - limit).
struct LoadRule {
  std::string name;
  int level = 0;
  ScopeId scope;
  uint32_t dimension = 0;  // in Model::dimensions
  Table<DomainId, Amount> limit;
  Table<DomainId, double> scale;
};

// Cost per group, of how its objects stand in the scope's domains.
struct GroupRule {
  enum class Kind : uint8_t {
    kAtMost,    // weight for each object above `wanted` in one domain
    kDistinct,  // weight for each domain that is missing to `wanted` distinct ones
    kAffinity,  // weight for each object that is missing to `wanted` in `domain`
  };
  std::string name;
  Rank rank;
  Kind kind = Kind::kAtMost;
  ScopeId scope;
  uint32_t uniform = 1;             // `wanted` of all groups, if the table is empty
  Table<GroupId, uint32_t> wanted;  // OPTIONAL. kNotForGroup: leaves the group alone
  Table<GroupId, DomainId> domain;  // kAffinity only. Invalid: leaves the group alone
  Table<GroupId, double> factor;    // OPTIONAL. Of the weight, for each group. Default: 1

  static constexpr uint32_t kNotForGroup = UINT32_MAX;
  double Factor(GroupId g) const { return factor.empty() ? 1 : factor[g]; }
  double Weight(GroupId g) const { return rank.weight * Factor(g); }
  uint32_t Wanted(GroupId g) const { return wanted.empty() ? uniform : wanted[g]; }
};

// Cost of each object that stands on a container, by the container.
struct ContainerRule {
  std::string name;
  int level = 0;
  Table<ContainerId, double> cost;
};

// Cost of single objects outside (or inside) some domains of a scope.
struct ObjectRule {
  std::string name;
  Rank rank;
  ScopeId scope;
  bool avoid = false;  // false: it should be in one of the domains; true: in none
  std::unordered_map<uint32_t, std::vector<DomainId>> domains;  // by object; sorted
};

// Cost of standing elsewhere than at the start.
struct MovementRule {
  std::string name = "movement";
  Rank rank{.level = kMovementLevel};
  Table<ObjectId, double> cost;  // OPTIONAL. Default: 1 each
  // Instead of the cost, where another object of the group starts: the two trade
  // places, and no data moves.
  double within_group = 0.1;
};

// A rule of this form: the sum over the scope's domains of
// weight * max(0, base(domain) + sum of load(o) of the objects there).
struct Hinge {
  ScopeId scope;
  double weight = 1;
  Table<DomainId, double> base;
  Table<ObjectId, double> load;  // any sign
};

// Who pays for a rule, for explanations.
struct Payment {
  uint32_t places = 0;            // so many domains, or groups
  std::string worst;              // the one that pays most. Example: "rack r12"
  std::string help;               // what would
  std::vector<ObjectId> objects;  // concerned ones, some
};

// Anything else. It is told of every change and keeps what it needs to know.
class CustomRule {
 public:
  CustomRule(std::string name, int level) : name_(std::move(name)), level_(level) {}
  virtual ~CustomRule() = default;

  const std::string& name() const { return name_; }
  int level() const { return level_; }

  // What `o`, which stands nowhere now, adds to Total() at `to`.
  virtual double Arrival(ObjectId o, ContainerId to) const = 0;
  virtual void Put(ObjectId o, ContainerId to) = 0;
  virtual void Lift(ObjectId o, ContainerId from) = 0;
  virtual double Total() const = 0;
  // True: Arrival() never falls as more objects are put, as with all rules that are not
  // custom. OPTIONAL: such a rule lets exact searches leave out hopeless branches.
  virtual bool DearerWhenFuller() const { return false; }
  // Adds objects that it is paid for, which a search then tries to move. OPTIONAL: a rule
  // without it only has a say in where objects go that move for other reasons.
  virtual void AddPayers(std::vector<ObjectId>& payers) const { static_cast<void>(payers); }
  // OPTIONAL: without it people read only how much there is to pay.
  virtual Payment WhoPays() const { return {}; }
  // What is saved if nothing stands there any more. OPTIONAL: a search empties a container as a
  // whole, by many moves of which only the last one saves something, only for rules that say this.
  virtual double SavedIfEmpty(ContainerId c) const { return static_cast<void>(c), 0; }

  // For the annealer, which asks millions of times a second. OPTIONAL; the defaults
  // put and lift. All leave things as they were.
  // What moving `o` from `from`, where it stands, to `to` adds to Total().
  virtual double MoveChange(ObjectId o, ContainerId from, ContainerId to);
  // What it adds if `a`, which stands at `at_a`, and `b` trade places.
  virtual double SwapChange(ObjectId a, ContainerId at_a, ObjectId b, ContainerId at_b);
  // What a move or a swap saves at the most, if nothing is saved that Total() does not
  // hold. OPTIONAL: the tighter, the sooner hopeless moves are left out.
  virtual double MostSaved() const { return std::numeric_limits<double>::infinity(); }
  // Where Total() changes only by several steps together: what a move, or a trade, changes of a sum
  // that slopes towards placements where Total() is less, and is about as large. The annealer
  // follows it while it is warm, and counts it for nothing. OPTIONAL: without it the way is found
  // by chance.
  virtual double MoveSlope(ObjectId o, ContainerId from, ContainerId to) const {
    return static_cast<void>(o), static_cast<void>(from), static_cast<void>(to), 0;
  }
  virtual double SwapSlope(ObjectId a, ContainerId at_a, ObjectId b, ContainerId at_b) const {
    return static_cast<void>(a), static_cast<void>(at_a), static_cast<void>(b),
           static_cast<void>(at_b), 0;
  }
  // Not null: the rule is no more than this. Valid as long as the rule.
  virtual const Hinge* hinge() const { return nullptr; }

 private:
  const std::string name_;
  const int level_;
};

// Makes the rule for an empty placement; each object is Put() after that.
using CustomRuleFactory = std::function<std::unique_ptr<CustomRule>(const Problem&)>;

}  // namespace shardmanager::solver
