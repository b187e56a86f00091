#include "allocator/solver/specs/company.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/domain_limits.h"

namespace shardmanager::solver {
namespace {

// Groups that no limit names have no row.
constexpr uint32_t kNotNamed = UINT32_MAX;
constexpr size_t kMostCounts = size_t{1} << 27;
constexpr uint32_t kMostObjectsNamed = UINT16_MAX;  // of one group

// A limit as one of its two groups sees it.
struct Side {
  uint32_t other;  // row
  uint32_t most;
};

struct Rows {
  std::vector<uint32_t> of_object;
  std::vector<std::vector<Side>> bounds;      // by row: those that it keeps down
  std::vector<std::vector<Side>> bounded_by;  // by row: those that keep it down
  std::vector<std::vector<ObjectId>> objects;
};

class CompanyRule final : public CustomRule {
 public:
  CompanyRule(const Problem& problem, ScopeId scope, const std::string& name, Rank rank, Rows rows,
              Table<ContainerId, DomainId> domain_of, uint32_t domains)
      : CustomRule(absl::StrCat("company(", name, ")"), rank.level),
        problem_(problem),
        scope_(scope),
        weight_(rank.weight),
        rows_(std::move(rows)),
        domain_of_(std::move(domain_of)),
        domains_(domains),
        count_(rows_.bounds.size() * domains, 0),
        where_(problem.objects) {}

  double Arrival(ObjectId o, ContainerId to) const override {
    const uint32_t row = rows_.of_object[o.index()];
    if (row == kNotNamed) return 0;
    const uint32_t d = domain_of_[to].index();
    return weight_ * static_cast<double>(RiseIn(row, d, Count(row, d)));
  }
  void Put(ObjectId o, ContainerId to) override {
    const uint32_t row = rows_.of_object[o.index()];
    if (row == kNotNamed) return;
    const uint32_t d = domain_of_[to].index();
    where_[o] = to;
    above_ += RiseIn(row, d, Count(row, d));
    ++count_[Cell(row, d)];
  }
  void Lift(ObjectId o, ContainerId from) override {
    const uint32_t row = rows_.of_object[o.index()];
    if (row == kNotNamed) return;
    const uint32_t d = domain_of_[from].index();
    where_[o] = ContainerId();
    --count_[Cell(row, d)];
    above_ -= RiseIn(row, d, Count(row, d));
  }
  double Total() const override { return weight_ * static_cast<double>(above_); }
  double MostSaved() const override { return Total(); }

  double MoveChange(ObjectId o, ContainerId from, ContainerId to) override {
    const uint32_t row = rows_.of_object[o.index()];
    const uint32_t here = domain_of_[from].index();
    const uint32_t there = domain_of_[to].index();
    if (row == kNotNamed || here == there) return 0;
    return weight_ * (static_cast<double>(RiseIn(row, there, Count(row, there))) -
                      static_cast<double>(RiseIn(row, here, Count(row, here) - 1)));
  }
  double SwapChange(ObjectId a, ContainerId at_a, ObjectId b, ContainerId at_b) override {
    const uint32_t x = rows_.of_object[a.index()];
    const uint32_t y = rows_.of_object[b.index()];
    if (x == y || domain_of_[at_a] == domain_of_[at_b]) return 0;
    if (x == kNotNamed) return MoveChange(b, at_b, at_a);
    if (y == kNotNamed) return MoveChange(a, at_a, at_b);
    return CustomRule::SwapChange(a, at_a, b, at_b);
  }

  // Either of the two may go.
  void AddPayers(std::vector<ObjectId>& payers) const override {
    if (above_ == 0) return;
    for (const std::vector<ObjectId>& objects : rows_.objects) {
      for (ObjectId o : objects) {
        if (where_[o].valid() && Pays(rows_.of_object[o.index()], domain_of_[where_[o]].index())) {
          payers.push_back(o);
        }
      }
    }
  }
  Payment WhoPays() const override {
    Payment payment;
    std::map<uint32_t, uint64_t> above;  // by domain
    for (uint32_t row = 0; row < rows_.bounds.size(); ++row) {
      for (uint32_t d : DomainsOf(row)) above[d] += AboveIn(row, d);
    }
    uint64_t most = 0;
    uint32_t worst = 0;
    for (const auto& [d, sum] : above) {
      payment.places += sum > 0;
      if (sum <= most) continue;
      most = sum;
      worst = d;
    }
    if (most == 0) return payment;
    payment.worst = DomainName(problem_, scope_, DomainId(worst));
    std::vector<ObjectId> payers;
    AddPayers(payers);
    for (ObjectId o : payers) {
      if (domain_of_[where_[o]].index() == worst) payment.objects.push_back(o);
    }
    payment.help = "more domains, or more room in them, or a higher `most`";
    return payment;
  }

 private:
  size_t Cell(uint32_t row, uint32_t d) const { return size_t{row} * domains_ + d; }
  uint32_t Count(uint32_t row, uint32_t d) const { return count_[Cell(row, d)]; }
  // What is above the limits that the row sets where it is.
  uint64_t AboveIn(uint32_t row, uint32_t d) const {
    uint64_t above = 0;
    for (const Side& side : rows_.bounds[row]) {
      const uint32_t there = Count(side.other, d);
      above += there > side.most ? there - side.most : 0;
    }
    return above;
  }
  // What one object more of the row adds where there are `now`.
  uint64_t RiseIn(uint32_t row, uint32_t d, uint32_t now) const {
    uint64_t rise = now == 0 ? AboveIn(row, d) : 0;
    for (const Side& side : rows_.bounded_by[row]) {
      rise += now >= side.most && Count(side.other, d) > 0 ? 1 : 0;
    }
    return rise;
  }
  // Some limit is broken there that the row, which is there, sets or is under.
  bool Pays(uint32_t row, uint32_t d) const {
    return AboveIn(row, d) > 0 || RiseIn(row, d, Count(row, d) - 1) > 0;
  }
  std::vector<uint32_t> DomainsOf(uint32_t row) const {
    std::vector<uint32_t> domains;
    for (ObjectId o : rows_.objects[row]) {
      if (where_[o].valid()) domains.push_back(domain_of_[where_[o]].index());
    }
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    return domains;
  }

  const Problem& problem_;
  const ScopeId scope_;
  const double weight_;
  const Rows rows_;
  const Table<ContainerId, DomainId> domain_of_;
  const uint32_t domains_;
  std::vector<uint16_t> count_;  // [row][domain]: objects of the group there
  Table<ObjectId, ContainerId> where_;
  uint64_t above_ = 0;
};

Rows RowsOf(const Problem& problem, const CompanySpec& spec) {
  std::vector<uint32_t> row_of(problem.groups(), kNotNamed);
  Rows rows;
  const auto row = [&](GroupId g) {
    if (row_of[g.index()] == kNotNamed) {
      row_of[g.index()] = static_cast<uint32_t>(rows.bounds.size());
      rows.bounds.emplace_back();
      rows.bounded_by.emplace_back();
      rows.objects.emplace_back();
    }
    return row_of[g.index()];
  };
  for (const CompanySpec::Limit& limit : spec.limits) {
    const uint32_t group = row(limit.group);
    const uint32_t with = row(limit.with);
    rows.bounds[group].push_back({with, limit.most});
    rows.bounded_by[with].push_back({group, limit.most});
  }
  rows.of_object.assign(problem.objects, kNotNamed);
  for (uint32_t g = 0; g < problem.groups(); ++g) {
    for (uint32_t o = problem.group_begin[g]; o < problem.group_begin[g + 1]; ++o) {
      rows.of_object[o] = row_of[g];
      if (row_of[g] != kNotNamed) rows.objects[row_of[g]].push_back(ObjectId(o));
    }
  }
  return rows;
}

absl::Status CheckLimit(const Problem& problem, const CompanySpec::Limit& limit) {
  for (GroupId g : {limit.group, limit.with}) {
    if (!g.valid() || g.index() >= problem.groups()) {
      return absl::InvalidArgumentError(absl::StrCat("company.limits: found group ", g.index(),
                                                     "; allowed: below ", problem.groups()));
    }
    const uint32_t objects = problem.group_begin[g.index() + 1] - problem.group_begin[g.index()];
    if (objects > kMostObjectsNamed) {
      return absl::InvalidArgumentError(absl::StrCat("company.limits: found group ", g.index(),
                                                     " of ", objects, " objects; allowed: at most ",
                                                     kMostObjectsNamed));
    }
  }
  if (limit.group != limit.with) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("company.limits: found group ", limit.group.index(),
                   " beside itself; allowed: two groups (for one, see exclusion)"));
}

}  // namespace

absl::Status CompanySpec::AddTo(Model& model, Rank rank) const {
  const Problem& problem = model.problem();
  const auto s = FindScope(problem, scope);
  if (!s.ok()) return s.status();
  for (const Limit& limit : limits) {
    if (absl::Status l = CheckLimit(problem, limit); !l.ok()) return l;
  }
  if (limits.empty()) return absl::OkStatus();
  Rows rows = RowsOf(problem, *this);
  const uint32_t domains = model.DomainCount(*s);
  if (rows.bounds.size() * domains > kMostCounts) {
    return absl::InvalidArgumentError(
        absl::StrCat("company.limits: found ", rows.bounds.size(), " groups, in ", domains,
                     " domains; allowed: at most ", kMostCounts, " pairs of the two"));
  }
  model.Add([rows = std::move(rows), domain_of = DomainOfEach(model, *s), domains, rank, id = *s,
             name = scope](const Problem& p) {
    return std::make_unique<CompanyRule>(p, id, name, rank, rows, domain_of, domains);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
