#include "allocator/explain.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "allocator/snapshot_tables.h"
#include "allocator/solver/explain.h"

namespace shardmanager::allocator {
namespace {

using solver::ContainerId;
using solver::ObjectId;
using solver::Reason;
using solver::RuleFamily;
using solver::Score;

std::string GoalName(int level) {
  if (level == solver::kConstraintLevel) return "constraint";
  if (level == solver::kMovementLevel) return "movement";
  switch (static_cast<PlacementGoal>(level - solver::kFirstGoalLevel + 1)) {
    case PlacementGoal::kRegionPreference:
      return "region preference";
    case PlacementGoal::kSpread:
      return "spread";
    case PlacementGoal::kMaintenance:
      return "maintenance";
    case PlacementGoal::kUtilization:
      return "utilization";
    case PlacementGoal::kGlobalBalance:
      return "balance";
    case PlacementGoal::kRegionalBalance:
      return "regional balance";
    case PlacementGoal::kParallelFailover:
      return "parallel failover";
  }
  return solver::LevelName(level);
}

bool IsNoReturn(const std::string& rule) { return rule == kNoReturnRule; }

// One rule at both places.
struct Difference {
  RuleFamily family;
  int level = 0;
  Argument argument;
  std::string metric = "";
  double change() const { return argument.cost - argument.cost_now; }
};

// `now` empty: the replica is nowhere. The two rules of an even balance have one name:
// their costs add up.
std::vector<Difference> Compare(const std::vector<Reason>& now, const std::vector<Reason>& there) {
  std::vector<Difference> all;
  const auto add = [&](const Reason& reason, double Argument::*cost) {
    auto at = std::find_if(all.begin(), all.end(), [&](const Difference& d) {
      return d.level == reason.level && d.argument.rule == reason.rule;
    });
    if (at == all.end()) {
      const std::string goal = IsNoReturn(reason.rule) ? "no return" : GoalName(reason.level);
      at = all.insert(at, {reason.family, reason.level, {goal, reason.rule}, reason.metric});
    }
    at->argument.*cost += reason.amount;
  };
  for (const Reason& reason : there) add(reason, &Argument::cost);
  for (const Reason& reason : now) add(reason, &Argument::cost_now);
  std::erase_if(all,
                [](const Difference& d) { return std::abs(d.change()) <= solver::kTolerance; });
  std::stable_sort(all.begin(), all.end(),
                   [](const Difference& a, const Difference& b) { return a.level < b.level; });
  return all;
}

std::string WhyRefused(const Difference& d) {
  switch (d.family) {
    case RuleFamily::kClosed:
      return "it takes no more shards: it is to be emptied, or its region is not allowed";
    case RuleFamily::kLoad:
      return absl::StrCat("it has no room: ", d.argument.rule);
    case RuleFamily::kGroup:
      return absl::StrCat("another replica of the shard is too near: ", d.argument.rule);
    case RuleFamily::kObject:
      return "the shard failed there a while ago, or had its primary there until just now";
    default:
      return d.argument.rule;
  }
}

// The first level at which it matters decides, as in the search.
void Judge(const std::vector<Difference>& differences, bool placed, Candidate& candidate) {
  double change = 0;
  const Difference* decides = nullptr;
  for (const Difference& d : differences) {
    if (decides != nullptr && d.level != decides->level) {
      if (std::abs(change) > solver::kTolerance) break;
      decides = nullptr;
    }
    if (decides == nullptr || std::abs(d.change()) > std::abs(decides->change())) decides = &d;
    change += d.change();
  }
  const bool refused = decides != nullptr && decides->level == solver::kConstraintLevel &&
                       change > solver::kTolerance;
  if (refused) {
    candidate.verdict = Verdict::kRefused;
    candidate.reason = WhyRefused(*decides);
    if (decides->family == RuleFamily::kLoad) candidate.short_of = decides->metric;
    candidate.closed = decides->family == RuleFamily::kClosed;
  } else if (decides != nullptr && IsNoReturn(decides->argument.rule) && change > 0) {
    candidate.verdict = Verdict::kWorse;
    candidate.reason = "a replica of the shard left it for balance within the last hour";
  } else if (!placed) {
    candidate.verdict = Verdict::kBetter;
    candidate.reason = "it has room for the missing replica";
  } else if (decides == nullptr || decides->level == solver::kMovementLevel ||
             std::abs(change) <= solver::kTolerance) {
    candidate.verdict = Verdict::kEqual;
    candidate.reason = "it is no better there, and a move is not for free";
  } else {
    candidate.verdict = change < 0 ? Verdict::kBetter : Verdict::kWorse;
    candidate.reason =
        absl::StrFormat("%s %s: %s costs %.3g there and %.3g here", decides->argument.goal,
                        change < 0 ? "gains" : "loses", decides->argument.rule,
                        decides->argument.cost, decides->argument.cost_now);
  }
}

class Explainer {
 public:
  Explainer(const SnapshotTables& tables, const solver::Model& model)
      : tables_(tables), state_(model), problem_(model.problem()) {}

  Explanation Run(const ExplainOptions& options) {
    Explanation out;
    out.servers_considered = problem_.containers;
    for (uint32_t o = 0; o < problem_.objects; ++o) out.replicas.push_back(Replica(ObjectId(o)));
    FindBestComers(options.from);
    for (ContainerId c : Chosen(options)) out.candidates.push_back(CandidateAt(c));
    CountRefusals(out);
    return out;
  }

 private:
  // The replica that would best come to a container, and what that changes.
  struct Comer {
    ObjectId object;  // invalid: nobody, as one is there
    Score change;
  };

  ExplainedReplica Replica(ObjectId o) {
    const ContainerId at = problem_.start[o];
    ExplainedReplica replica{.server = tables_.server(at), .arguments = {}};
    if (!at.valid()) return replica;
    for (const Difference& d : Compare({}, solver::Explain(state_, o, at))) {
      replica.arguments.push_back(d.argument);
    }
    return replica;
  }

  bool Holds(ContainerId c) const {
    return std::find(problem_.start.begin(), problem_.start.end(), c) != problem_.start.end();
  }

  // A missing replica goes before one that has a place. `only` valid: its replica alone may come.
  void FindBestComers(ServerIndex only) {
    comers_.resize(problem_.containers);
    const bool missing = !only.valid() && Missing().valid();
    for (uint32_t i = 0; i < problem_.objects; ++i) {
      const ObjectId o(i);
      if (missing && problem_.start[o].valid()) continue;
      if (only.valid() && tables_.server(problem_.start[o]) != only) continue;
      const ContainerId from = state_.Lift(o);
      const Score here = state_.Arrival(o, from);
      for (uint32_t c = 0; c < problem_.containers; ++c) {
        if (ContainerId(c) == from) continue;
        const Score change = state_.Arrival(o, ContainerId(c)) - here;
        Comer& comer = comers_[c];
        if (!comer.object.valid() || Before(change, comer.change)) comer = {o, change};
      }
      state_.Put(o, from, from);
    }
    for (ContainerId at : problem_.start) {
      if (at.valid()) comers_[at.index()].object = ObjectId();
    }
  }

  ObjectId Missing() const {
    for (uint32_t i = 0; i < problem_.objects; ++i) {
      if (!problem_.start[ObjectId(i)].valid()) return ObjectId(i);
    }
    return ObjectId();
  }

  // A strict order, unlike Score::BetterThan, which is blind to small differences.
  static bool Before(const Score& a, const Score& b) {
    for (int l = 0; l < solver::kLevels; ++l) {
      const double x = std::nearbyint(a[l] / solver::kTolerance);
      const double y = std::nearbyint(b[l] / solver::kTolerance);
      if (x != y) return x < y;
    }
    return false;
  }

  std::vector<ContainerId> Chosen(const ExplainOptions& options) const {
    if (options.only.valid()) return {ContainerId(tables_.PositionOf(options.only))};
    std::vector<ContainerId> order;
    for (uint32_t c = 0; c < problem_.containers; ++c) {
      if (comers_[c].object.valid()) order.emplace_back(c);
    }
    const size_t n = std::min(order.size(), options.most_candidates);
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(n), order.end(),
                      [&](ContainerId a, ContainerId b) {
                        const Score& x = comers_[a.index()].change;
                        const Score& y = comers_[b.index()].change;
                        return Before(x, y) || (!Before(y, x) && a < b);
                      });
    order.resize(n);
    return order;
  }

  Candidate CandidateAt(ContainerId c) {
    Candidate candidate{.server = tables_.server(c)};
    if (Holds(c)) {
      candidate.verdict = Verdict::kHolds;
      candidate.reason = "it holds a replica of the shard";
      return candidate;
    }
    const ObjectId o = comers_[c.index()].object;
    if (!o.valid()) return candidate;
    const ContainerId from = problem_.start[o];
    candidate.from = tables_.server(from);
    std::vector<Reason> now;
    if (from.valid()) now = solver::Explain(state_, o, from);
    const auto differences = Compare(now, solver::Explain(state_, o, c));
    Judge(differences, from.valid(), candidate);
    for (const Difference& d : differences) candidate.arguments.push_back(d.argument);
    return candidate;
  }

  // Where the replica that would best come breaks a constraint that it does not break now.
  void CountRefusals(Explanation& out) {
    std::vector<std::vector<ContainerId>> refusing(problem_.objects);
    for (uint32_t c = 0; c < problem_.containers; ++c) {
      const Comer& comer = comers_[c];
      if (!comer.object.valid() || comer.change[solver::kConstraintLevel] <= solver::kTolerance) {
        continue;
      }
      refusing[comer.object.index()].emplace_back(c);
    }
    for (uint32_t o = 0; o < problem_.objects; ++o) {
      for (const solver::Refusal& refusal : solver::WhyNot(state_, ObjectId(o), refusing[o])) {
        const bool closed = refusal.family == RuleFamily::kClosed;
        Refused(out, closed ? "closed to new replicas" : refusal.rule).servers +=
            refusal.containers;
      }
    }
    std::stable_sort(
        out.refused.begin(), out.refused.end(),
        [](const RefusedCount& a, const RefusedCount& b) { return a.servers > b.servers; });
  }
  static RefusedCount& Refused(Explanation& out, const std::string& rule) {
    for (RefusedCount& known : out.refused) {
      if (known.rule == rule) return known;
    }
    return out.refused.emplace_back(RefusedCount{rule});
  }

  const SnapshotTables& tables_;
  solver::State state_;
  const solver::Problem& problem_;
  std::vector<Comer> comers_;  // by container
};

}  // namespace

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kEqual:
      return "equal";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kHolds:
      return "holds";
  }
  return "unknown";
}

Explanation Explain(const Snapshot& snapshot, const ExplainOptions& options) {
  constexpr MoveLimits kNone{.total = UINT32_MAX, .per_server = UINT32_MAX};
  const Options unlimited{.moves = kNone, .drain_moves = kNone};
  const SnapshotTables tables(snapshot, unlimited);
  const auto placement = PlacementModel::Make(tables.input());
  if (!placement.ok()) return {};
  return Explainer(tables, (*placement)->model()).Run(options);
}

}  // namespace shardmanager::allocator
