#include "allocator/solver/specs/place_specs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::solver {
namespace {

absl::Status OutOfRange(const std::string& field, size_t found, size_t end) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": found ", found, "; allowed: below ", end));
}

class MoveLimitRule final : public CustomRule {
 public:
  MoveLimitRule(const Problem& problem, const MoveLimitSpec& spec, Rank rank)
      : CustomRule(kMoveLimitRule, rank.level),
        problem_(problem),
        spec_(spec),
        weight_(rank.weight),
        moves_of_(spec.under_way),
        moves_of_group_(problem.groups(), 0),
        group_of_(problem.objects) {
    moves_of_.resize(problem.containers, 0);
    // What is above the limit already is nobody's cost.
    for (uint32_t& n : moves_of_) n = std::min(n, spec.per_container);
    for (uint32_t g = 0; g < problem.groups(); ++g) {
      for (uint32_t o = problem.group_begin[g]; o < problem.group_begin[g + 1]; ++o) {
        group_of_[ObjectId(o)] = GroupId(g);
      }
    }
  }

  double Arrival(ObjectId o, ContainerId to) const override {
    const ContainerId start = problem_.start[o];
    if (to == start || !Counts(start)) return 0;
    const int above = (total_ >= spec_.total) + (moves_of_[to] >= spec_.per_container) +
                      (moves_of_[start] >= spec_.per_container) +
                      (moves_of_group_[group_of_[o]] >= spec_.per_group);
    return weight_ * above;
  }
  void Put(ObjectId o, ContainerId to) override { Count(o, to, 1); }
  void Lift(ObjectId o, ContainerId from) override { Count(o, from, -1); }
  bool DearerWhenFuller() const override { return true; }
  double Total() const override {
    const auto above = [](uint32_t n, uint32_t most) { return n > most ? n - most : 0; };
    double sum = above(total_, spec_.total);
    for (uint32_t n : moves_of_) sum += above(n, spec_.per_container);
    for (uint32_t n : moves_of_group_) sum += above(n, spec_.per_group);
    return weight_ * sum;
  }

 private:
  bool Counts(ContainerId start) const {
    return start.valid() && (spec_.counted.empty() || spec_.counted[start]);
  }
  void Count(ObjectId o, ContainerId at, int change) {
    const ContainerId start = problem_.start[o];
    if (at == start || !Counts(start)) return;
    const auto by = static_cast<uint32_t>(change);
    total_ += by;
    moves_of_[at] += by;
    moves_of_[start] += by;
    moves_of_group_[group_of_[o]] += by;
  }

  const Problem& problem_;
  const MoveLimitSpec spec_;
  const double weight_;
  uint32_t total_ = 0;
  Table<ContainerId, uint32_t> moves_of_;
  Table<GroupId, uint32_t> moves_of_group_;
  Table<ObjectId, GroupId> group_of_;
};

}  // namespace

absl::Status DrainSpec::AddTo(Model& model, Rank rank) const {
  ContainerRule rule{.name = "drain", .level = rank.level, .cost = {}};
  rule.cost.assign(model.problem().containers, 0);
  for (ContainerId c : containers) {
    if (c.index() >= rule.cost.size()) {
      return OutOfRange("drain.containers", c.index(), rule.cost.size());
    }
    rule.cost[c] = rank.weight;
  }
  if (!containers.empty()) model.Add(std::move(rule));
  return absl::OkStatus();
}

absl::Status PinSpec::AddTo(Model& model, Rank rank) const {
  const auto s = FindScope(model.problem(), scope);
  if (!s.ok()) return s.status();
  const std::string usual = absl::StrCat(avoid ? "avoid(" : "pin(", scope, ")");
  ObjectRule rule{.name = name.empty() ? usual : name,
                  .rank = rank,
                  .scope = *s,
                  .avoid = avoid,
                  .domains = domains};
  for (auto& [object, list] : rule.domains) {
    if (object >= model.problem().objects) {
      return OutOfRange("pin.domains", object, model.problem().objects);
    }
    std::sort(list.begin(), list.end());
    if (!list.empty() && list.back().index() >= model.DomainCount(*s)) {
      return OutOfRange("pin.domains", list.back().index(), model.DomainCount(*s));
    }
  }
  if (!rule.domains.empty()) model.Add(std::move(rule));
  return absl::OkStatus();
}

absl::Status MoveCostSpec::AddTo(Model& model, Rank rank) const {
  if (!cost.empty() && cost.size() != model.problem().objects) {
    return absl::InvalidArgumentError(absl::StrCat("move_cost.cost: found ", cost.size(),
                                                   " entries; allowed: ", model.problem().objects));
  }
  for (double c : cost) {
    if (!(c >= 0) || c > 1e15) {
      return absl::InvalidArgumentError(
          absl::StrCat("move_cost.cost: found ", c, "; allowed: 0 to 1e15"));
    }
  }
  model.Set({.name = "movement", .rank = rank, .cost = cost, .within_group = within_group});
  return absl::OkStatus();
}

absl::Status MoveLimitSpec::AddTo(Model& model, Rank rank) const {
  if (total == kNone && per_container == kNone && per_group == kNone) return absl::OkStatus();
  const size_t containers = model.problem().containers;
  for (size_t found : {counted.size(), under_way.size()}) {
    if (found == 0 || found == containers) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("move_limit: found ", found, " entries; allowed: ", containers));
  }
  model.Add([spec = *this, rank](const Problem& problem) {
    return std::make_unique<MoveLimitRule>(problem, spec, rank);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
