#include "allocator/solver/group_counts.h"

#include <algorithm>

namespace shardmanager::solver {
namespace {

constexpr uint32_t kNoRow = UINT32_MAX;
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

GroupCounts::GroupCounts(const State& state, const LevelWeights& weights)
    : state_(state),
      row_of_(state.problem().groups(), kNoRow),
      concerned_(state.problem().objects, false) {
  const Problem& p = state.problem();
  uint32_t rows = 0;
  for (const GroupRule& rule : state.model().group_rules()) {
    for (uint32_t g = 0; g < p.groups(); ++g) {
      if (row_of_[GroupId(g)] == kNoRow && Concerns(rule, GroupId(g))) row_of_[GroupId(g)] = rows++;
    }
    const auto same = [&](const Board& b) { return b.scope == rule.scope; };
    const auto at = std::find_if(boards_.begin(), boards_.end(), same);
    rules_.push_back({&rule, static_cast<uint32_t>(at - boards_.begin()),
                      rule.rank.level == kConstraintLevel
                          ? 0
                          : rule.rank.weight * weights[static_cast<size_t>(rule.rank.level)]});
    if (at != boards_.end()) continue;
    boards_.emplace_back();
    boards_.back().scope = rule.scope;
    boards_.back().domains = state.model().DomainCount(rule.scope);
  }
  for (Board& board : boards_) {
    const size_t cells = size_t{rows} * board.domains;
    if (cells <= kMostDenseCells) board.dense.assign(cells, 0);
    board.distinct.assign(rows, 0);
  }
  for (uint32_t i = 0; i < p.objects; ++i) {
    const ObjectId o(i);
    concerned_[o] = row_of_[state.group_board().GroupOf(o)] != kNoRow;
    if (concerned_[o] && state.where(o).valid()) Place(o, state.where(o), 1);
  }
}

uint32_t GroupCounts::Add(Board& board, GroupId g, DomainId d, int by) {
  const uint32_t row = row_of_[g];
  if (board.dense.empty()) return board.sparse.Add(GroupId(row), d, by);
  uint16_t& count = board.dense[size_t{row} * board.domains + d.index()];
  return count = static_cast<uint16_t>(count + by);
}

void GroupCounts::Place(ObjectId o, ContainerId c, int by) {
  const GroupId g = state_.group_board().GroupOf(o);
  for (Board& board : boards_) {
    const uint32_t now = Add(board, g, state_.model().DomainOf(board.scope, c), by);
    if (by > 0 && now == 1) ++board.distinct[row_of_[g]];
    if (by < 0 && now == 0) --board.distinct[row_of_[g]];
  }
}

void GroupCounts::Apply(ObjectId o, ContainerId from, ContainerId to) {
  if (!concerned_[o]) return;
  Place(o, from, -1);
  Place(o, to, 1);
}

double GroupCounts::ChangeOf(const Rule& rule, GroupId g, DomainId from, DomainId to) const {
  const GroupRule& r = *rule.rule;
  const Board& board = boards_[rule.board];
  const uint32_t wanted = r.Wanted(g);
  switch (r.kind) {
    case GroupRule::Kind::kAtMost:
      return (Count(board, g, to) >= wanted ? 1 : 0) - (Count(board, g, from) > wanted ? 1 : 0);
    case GroupRule::Kind::kDistinct: {
      const uint32_t before = board.distinct[row_of_[g]];
      const uint32_t after =
          before + (Count(board, g, to) == 0 ? 1 : 0) - (Count(board, g, from) == 1 ? 1 : 0);
      return Missing(after, wanted) - Missing(before, wanted);
    }
    case GroupRule::Kind::kAffinity: {
      const DomainId there = r.domain[g];
      if (to == there) return Count(board, g, to) < wanted ? -1 : 0;
      return from == there && Count(board, g, from) <= wanted ? 1 : 0;
    }
  }
  return 0;
}

bool GroupCounts::AddChangeOfGroup(GroupId g, ContainerId from, ContainerId to,
                                   double& change) const {
  for (const Rule& rule : rules_) {
    if (!Concerns(*rule.rule, g)) continue;
    const ScopeId scope = rule.rule->scope;
    const DomainId here = state_.model().DomainOf(scope, from);
    const DomainId there = state_.model().DomainOf(scope, to);
    if (here == there) continue;
    const double units = ChangeOf(rule, g, here, there);
    if (rule.weight == 0 && units > 0) return false;
    change += rule.weight * units;
  }
  return true;
}

}  // namespace shardmanager::solver
