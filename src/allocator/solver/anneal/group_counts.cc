#include "allocator/solver/anneal/group_counts.h"

namespace shardmanager::solver {
namespace {

constexpr size_t kMostDenseCells = size_t{1} << 25;

double Missing(uint32_t have, uint32_t wanted) { return have < wanted ? wanted - have : 0; }

}  // namespace

// Many groups of one object need no look at all.
bool GroupCounts::Concerns(const GroupRule& rule, GroupId g) const {
  const Problem& p = state_.problem();
  const uint32_t size = p.group_begin[g.index() + 1] - p.group_begin[g.index()];
  const uint32_t wanted = rule.Wanted(g);
  if (wanted == GroupRule::kNotForGroup || size == 0) return false;
  switch (rule.kind) {
    case GroupRule::Kind::kAtMost:
      return size > wanted;
    case GroupRule::Kind::kDistinct:
      return wanted > 1;
    case GroupRule::Kind::kAffinity:
      return wanted > 0 && rule.domain[g].valid();
  }
  return true;
}

uint32_t GroupCounts::BoardFor(ScopeId scope) {
  const auto same = [&](const Board& b) { return b.scope == scope; };
  const auto at = std::find_if(boards_.begin(), boards_.end(), same);
  const auto index = static_cast<uint32_t>(at - boards_.begin());
  if (at != boards_.end()) return index;
  const Model& model = state_.model();
  boards_.emplace_back();
  Board& board = boards_.back();
  board.scope = scope;
  board.domains = model.DomainCount(scope);
  for (uint32_t c = 0; c < state_.problem().containers; ++c) {
    board.domain_of.push_back(model.DomainOf(scope, ContainerId(c)));
  }
  const size_t cells = groups_.size() * board.domains;
  if (cells <= kMostDenseCells) board.dense.assign(cells, 0);
  board.distinct.assign(groups_.size(), 0);
  return index;
}

double GroupCounts::BrokenBy(const GroupRule& rule, GroupId g) const {
  const Problem& p = state_.problem();
  std::vector<DomainId> at;
  for (uint32_t o = p.group_begin[g.index()]; o < p.group_begin[g.index() + 1]; ++o) {
    const ContainerId c = state_.where(ObjectId(o));
    if (c.valid()) at.push_back(state_.model().DomainOf(rule.scope, c));
  }
  const uint32_t wanted = rule.Wanted(g);
  std::sort(at.begin(), at.end());
  if (rule.kind == GroupRule::Kind::kAffinity) {
    const auto there = std::equal_range(at.begin(), at.end(), rule.domain[g]);
    return Missing(static_cast<uint32_t>(there.second - there.first), wanted);
  }
  if (rule.kind == GroupRule::Kind::kDistinct) {
    return Missing(static_cast<uint32_t>(std::unique(at.begin(), at.end()) - at.begin()), wanted);
  }
  double above = 0;
  for (size_t i = wanted; i < at.size(); ++i) above += at[i] == at[i - wanted];
  return above;
}

void GroupCounts::AddRule(const GroupRule& rule, const LevelWeights& weights, double unit) {
  const bool hard = rule.rank.level == kConstraintLevel;
  double broken = 0;
  for (GroupId g : groups_) {
    if (hard && Concerns(rule, g)) broken += BrokenBy(rule, g) * rule.Factor(g);
  }
  rules_.push_back({.kind = rule.kind,
                    .hard = hard,
                    .board = BoardFor(rule.scope),
                    .weight = rule.rank.weight * weights[static_cast<size_t>(rule.rank.level)],
                    .price = Price(unit, state_.problem().objects, broken),
                    .wanted = {},
                    .domain = {},
                    .factor = {}});
  for (GroupId g : groups_) {
    rules_.back().wanted.push_back(Concerns(rule, g) ? rule.Wanted(g) : GroupRule::kNotForGroup);
    if (rule.kind == GroupRule::Kind::kAffinity) rules_.back().domain.push_back(rule.domain[g]);
    if (!rule.factor.empty()) rules_.back().factor.push_back(rule.factor[g]);
  }
}

GroupCounts::GroupCounts(const State& state, const LevelWeights& weights, double unit)
    : state_(state), row_of_(state.problem().objects, kNoRow) {
  const Problem& p = state.problem();
  const std::vector<GroupRule>& rules = state.model().group_rules();
  for (uint32_t g = 0; g < p.groups(); ++g) {
    const auto concerns = [&](const GroupRule& rule) { return Concerns(rule, GroupId(g)); };
    if (std::none_of(rules.begin(), rules.end(), concerns)) continue;
    for (uint32_t o = p.group_begin[g]; o < p.group_begin[g + 1]; ++o) {
      row_of_[ObjectId(o)] = static_cast<uint32_t>(groups_.size());
    }
    groups_.push_back(GroupId(g));
  }
  for (const GroupRule& rule : rules) AddRule(rule, weights, unit);
  for (uint32_t i = 0; i < p.objects; ++i) {
    const ObjectId o(i);
    if (row_of_[o] != kNoRow && state.where(o).valid()) Place(row_of_[o], state.where(o), 1);
  }
}

uint32_t GroupCounts::Add(Board& board, uint32_t row, DomainId d, int by) {
  if (board.dense.empty()) return board.sparse.Add(GroupId(row), d, by);
  uint16_t& count = board.dense[size_t{row} * board.domains + d.index()];
  return count = static_cast<uint16_t>(count + by);
}

void GroupCounts::Place(uint32_t row, ContainerId c, int by) {
  for (Board& board : boards_) {
    const uint32_t now = Add(board, row, board.domain_of[c.index()], by);
    if (by > 0 && now == 1) ++board.distinct[row];
    if (by < 0 && now == 0) --board.distinct[row];
  }
}

double GroupCounts::Apply(ObjectId o, ContainerId from, ContainerId to) {
  const uint32_t row = row_of_[o];
  if (row == kNoRow) return 0;
  double goals = 0;
  for (Rule& rule : rules_) {
    const Board& board = boards_[rule.board];
    const double units =
        ChangeOf(rule, row, board.domain_of[from.index()], board.domain_of[to.index()]);
    if (rule.hard) {
      rule.price.Add(units);
    } else {
      goals += rule.weight * units;
    }
  }
  Place(row, from, -1);
  Place(row, to, 1);
  return goals;
}

double GroupCounts::UnitsOf(const Rule& rule, uint32_t row, DomainId from, DomainId to) const {
  const Board& board = boards_[rule.board];
  const uint32_t wanted = rule.wanted[row];
  if (from == to || wanted == GroupRule::kNotForGroup) return 0;
  switch (rule.kind) {
    case GroupRule::Kind::kAtMost:
      return (Count(board, row, to) >= wanted ? 1 : 0) - (Count(board, row, from) > wanted ? 1 : 0);
    case GroupRule::Kind::kDistinct: {
      const uint32_t before = board.distinct[row];
      const uint32_t after =
          before + (Count(board, row, to) == 0 ? 1 : 0) - (Count(board, row, from) == 1 ? 1 : 0);
      return Missing(after, wanted) - Missing(before, wanted);
    }
    case GroupRule::Kind::kAffinity: {
      const DomainId there = rule.domain[row];
      if (to == there) return Count(board, row, to) < wanted ? -1 : 0;
      return from == there && Count(board, row, from) <= wanted ? 1 : 0;
    }
  }
  return 0;
}

double GroupCounts::RiseOfRow(uint32_t row, ContainerId from, ContainerId to) const {
  double rise = 0;
  for (const Rule& rule : rules_) {
    const Board& board = boards_[rule.board];
    const double units =
        ChangeOf(rule, row, board.domain_of[from.index()], board.domain_of[to.index()]);
    rise += (rule.hard ? rule.price.now() : rule.weight) * units;
  }
  return rise;
}

}  // namespace shardmanager::solver
