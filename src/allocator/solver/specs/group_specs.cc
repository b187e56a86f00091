#include "allocator/solver/specs/group_specs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::solver {
namespace {

absl::Status CheckTable(const std::string& field, size_t found, const Model& model) {
  if (found == 0 || found == model.problem().groups()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": found ", found, " entries; allowed: ", model.problem().groups(), ", one a group"));
}

// The rule of a scope and a table; errors name the spec's fields.
absl::StatusOr<GroupRule> MakeRule(const Model& model, Rank rank, GroupRule::Kind kind,
                                   const std::string& name, const std::string& scope,
                                   uint32_t uniform, const Table<GroupId, uint32_t>& table) {
  const auto s = FindScope(model.problem(), scope);
  if (!s.ok()) return s.status();
  if (absl::Status t = CheckTable(name, table.size(), model); !t.ok()) return t;
  return GroupRule{.name = absl::StrCat(name, "(", scope, ")"),
                   .rank = rank,
                   .kind = kind,
                   .scope = *s,
                   .uniform = uniform,
                   .wanted = table,
                   .domain = {},
                   .factor = {}};
}

}  // namespace

absl::Status ExclusionSpec::AddTo(Model& model, Rank rank) const {
  auto rule =
      MakeRule(model, rank, GroupRule::Kind::kAtMost, "exclusion", scope, most, most_of_group);
  if (!rule.ok()) return rule.status();
  model.Add(*std::move(rule));
  return absl::OkStatus();
}

absl::Status SpreadSpec::AddTo(Model& model, Rank rank) const {
  auto rule =
      MakeRule(model, rank, GroupRule::Kind::kDistinct, "spread", scope, least, least_of_group);
  if (!rule.ok()) return rule.status();
  const Problem& p = model.problem();
  if (rule->wanted.empty()) rule->wanted.assign(p.groups(), least);
  // A group cannot cover more domains than it has objects.
  for (uint32_t g = 0; g < p.groups(); ++g) {
    uint32_t& wanted = rule->wanted[GroupId(g)];
    if (wanted == GroupRule::kNotForGroup) continue;
    wanted = std::min(wanted, p.group_begin[g + 1] - p.group_begin[g]);
  }
  model.Add(*std::move(rule));
  return absl::OkStatus();
}

absl::Status AffinitySpec::AddTo(Model& model, Rank rank) const {
  auto rule = MakeRule(model, rank, GroupRule::Kind::kAffinity, "affinity", scope, objects,
                       objects_of_group);
  if (!rule.ok()) return rule.status();
  if (domain.size() != model.problem().groups()) {
    return CheckTable("affinity.domain", domain.size() + (domain.empty() ? SIZE_MAX : 0), model);
  }
  for (DomainId d : domain) {
    if (!d.valid() || d.index() < model.DomainCount(rule->scope)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "affinity.domain: found ", d.index(), "; allowed: below ", model.DomainCount(rule->scope)));
  }
  if (auto s = CheckTable("affinity.weight_of_group", weight_of_group.size(), model); !s.ok()) {
    return s;
  }
  for (double weight : weight_of_group) {
    if (weight > 0 && weight <= 1e6) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("affinity.weight_of_group: found ", weight, "; allowed: above 0, up to 1e6"));
  }
  rule->domain = domain;
  rule->factor = weight_of_group;
  model.Add(*std::move(rule));
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
