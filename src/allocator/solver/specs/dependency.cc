#include "allocator/solver/specs/dependency.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/domain_limits.h"

namespace shardmanager::solver {
namespace {

// Groups that need nothing and that nobody needs have no row.
constexpr uint32_t kNoRow = UINT32_MAX;
constexpr size_t kMostCells = size_t{1} << 28;

struct Needs {
  std::vector<uint32_t> row_of_object;
  std::vector<std::vector<uint32_t>> needed;     // by row
  std::vector<std::vector<uint32_t>> needed_by;  // by row
};

class DependencyRule final : public CustomRule {
 public:
  DependencyRule(const std::string& scope, Rank rank, Needs needs,
                 Table<ContainerId, DomainId> domain_of, uint32_t domains)
      : CustomRule(absl::StrCat("dependency(", scope, ")"), rank.level),
        weight_(rank.weight),
        needs_(std::move(needs)),
        domain_of_(std::move(domain_of)),
        domains_(domains),
        count_(needs_.needed.size() * domains, 0) {}

  double Arrival(ObjectId o, ContainerId to) const override {
    const uint32_t row = needs_.row_of_object[o.index()];
    if (row == kNoRow) return 0;
    const uint32_t d = domain_of_[to].index();
    return Count(row, d) > 0 ? 0 : FirstObject(row, d);
  }
  void Put(ObjectId o, ContainerId to) override { Add(o, to, 1); }
  void Lift(ObjectId o, ContainerId from) override { Add(o, from, -1); }
  double Total() const override {
    uint64_t missing = 0;
    for (uint32_t row = 0; row < needs_.needed.size(); ++row) {
      for (uint32_t d = 0; d < domains_; ++d) {
        if (Count(row, d) == 0) continue;
        for (uint32_t t : needs_.needed[row]) missing += Count(t, d) == 0;
      }
    }
    return weight_ * static_cast<double>(missing);
  }

  double MoveChange(ObjectId o, ContainerId from, ContainerId to) override {
    const uint32_t row = needs_.row_of_object[o.index()];
    const uint32_t at = domain_of_[from].index();
    const uint32_t d = domain_of_[to].index();
    if (row == kNoRow || at == d) return 0;
    double change = 0;
    if (Count(row, at) == 1) change -= FirstObject(row, at);
    if (Count(row, d) == 0) change += FirstObject(row, d);
    return change;
  }
  double SwapChange(ObjectId a, ContainerId at_a, ObjectId b, ContainerId at_b) override {
    const uint32_t x = needs_.row_of_object[a.index()];
    const uint32_t y = needs_.row_of_object[b.index()];
    if (x == y || domain_of_[at_a] == domain_of_[at_b]) return 0;
    if (x == kNoRow) return MoveChange(b, at_b, at_a);
    if (y == kNoRow) return MoveChange(a, at_a, at_b);
    return CustomRule::SwapChange(a, at_a, b, at_b);
  }

 private:
  uint32_t Count(uint32_t row, uint32_t d) const { return count_[size_t{row} * domains_ + d]; }
  void Add(ObjectId o, ContainerId c, int change) {
    const uint32_t row = needs_.row_of_object[o.index()];
    if (row == kNoRow) return;
    count_[size_t{row} * domains_ + domain_of_[c].index()] += static_cast<uint32_t>(change);
  }
  // What it costs that the group is in the domain at all.
  double FirstObject(uint32_t row, uint32_t d) const {
    int change = 0;
    for (uint32_t t : needs_.needed[row]) change += Count(t, d) == 0;
    for (uint32_t s : needs_.needed_by[row]) change -= Count(s, d) > 0;
    return weight_ * change;
  }

  const double weight_;
  const Needs needs_;
  const Table<ContainerId, DomainId> domain_of_;
  const uint32_t domains_;
  std::vector<uint32_t> count_;  // [row][domain]: objects of the group there
};

Needs CompactNeeds(const Problem& problem, const DependencySpec& spec) {
  std::vector<uint32_t> row_of(problem.groups(), kNoRow);
  Needs needs;
  const auto row = [&](GroupId g) {
    if (row_of[g.index()] == kNoRow) {
      row_of[g.index()] = static_cast<uint32_t>(needs.needed.size());
      needs.needed.emplace_back();
      needs.needed_by.emplace_back();
    }
    return row_of[g.index()];
  };
  for (uint32_t g = 0; g < problem.groups(); ++g) {
    std::vector<GroupId> unique = spec.needed[GroupId(g)];
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    for (GroupId t : unique) {
      if (t == GroupId(g)) continue;
      const uint32_t from = row(GroupId(g));
      const uint32_t to = row(t);
      needs.needed[from].push_back(to);
      needs.needed_by[to].push_back(from);
    }
  }
  needs.row_of_object.assign(problem.objects, kNoRow);
  for (uint32_t g = 0; g < problem.groups(); ++g) {
    for (uint32_t o = problem.group_begin[g]; o < problem.group_begin[g + 1]; ++o) {
      needs.row_of_object[o] = row_of[g];
    }
  }
  return needs;
}

}  // namespace

absl::Status DependencySpec::AddTo(Model& model, Rank rank) const {
  const Problem& problem = model.problem();
  const auto s = FindScope(problem, scope);
  if (!s.ok()) return s.status();
  if (needed.size() != problem.groups()) {
    return absl::InvalidArgumentError(absl::StrCat("dependency.needed: found ", needed.size(),
                                                   " entries; allowed: ", problem.groups()));
  }
  for (const auto& list : needed) {
    for (GroupId t : list) {
      if (t.index() < problem.groups()) continue;
      return absl::InvalidArgumentError(absl::StrCat("dependency.needed: found group ", t.index(),
                                                     "; allowed: below ", problem.groups()));
    }
  }
  Needs needs = CompactNeeds(problem, *this);
  if (needs.needed.empty()) return absl::OkStatus();
  const uint32_t domains = model.DomainCount(*s);
  if (needs.needed.size() * domains > kMostCells) {
    return absl::InvalidArgumentError(absl::StrCat("dependency: found ", needs.needed.size(),
                                                   " groups in ", domains,
                                                   " domains; allowed: ", kMostCells, " pairs"));
  }
  model.Add([needs = std::move(needs), domain_of = DomainOfEach(model, *s), domains, rank,
             name = scope](const Problem&) {
    return std::make_unique<DependencyRule>(name, rank, needs, domain_of, domains);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
