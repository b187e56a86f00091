#include "allocator/solver/specs/group_move.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace shardmanager::solver {
namespace {

class GroupMoveRule final : public CustomRule {
 public:
  GroupMoveRule(const Problem& problem, Rank rank)
      : CustomRule("group move", rank.level),
        problem_(problem),
        weight_(rank.weight),
        group_of_(problem.objects),
        moved_(problem.groups(), 0) {
    uint32_t largest = 0;
    for (uint32_t g = 0; g < problem.groups(); ++g) {
      largest = std::max(largest, problem.group_begin[g + 1] - problem.group_begin[g]);
      for (uint32_t o = problem.group_begin[g]; o < problem.group_begin[g + 1]; ++o) {
        group_of_[ObjectId(o)] = GroupId(g);
      }
    }
    groups_with_.assign(largest + 1, 0);
    groups_with_[0] = problem.groups();
  }

  double Arrival(ObjectId o, ContainerId to) const override {
    return Away(o, to) && moved_[group_of_[o]] == most_ ? weight_ : 0;
  }
  void Put(ObjectId o, ContainerId to) override {
    if (!Away(o, to)) return;
    uint32_t& moved = moved_[group_of_[o]];
    --groups_with_[moved];
    ++groups_with_[++moved];
    most_ = std::max(most_, moved);
  }
  void Lift(ObjectId o, ContainerId from) override {
    if (!Away(o, from)) return;
    uint32_t& moved = moved_[group_of_[o]];
    // If it was the last with so many, it is itself the one with one less.
    if (--groups_with_[moved] == 0 && moved == most_) --most_;
    ++groups_with_[--moved];
  }
  double Total() const override { return weight_ * most_; }

  double MoveChange(ObjectId o, ContainerId from, ContainerId to) override {
    const bool was = Away(o, from);
    if (was == Away(o, to)) return 0;
    const uint32_t moved = moved_[group_of_[o]];
    if (moved != most_) return 0;
    if (!was) return weight_;
    return groups_with_[moved] == 1 ? -weight_ : 0;
  }
  // A swap may bring two objects of one group home.
  double MostSaved() const override { return 2 * weight_; }

 private:
  bool Away(ObjectId o, ContainerId c) const {
    const ContainerId start = problem_.start[o];
    return start.valid() && start != c;
  }

  const Problem& problem_;
  const double weight_;
  Table<ObjectId, GroupId> group_of_;
  Table<GroupId, uint32_t> moved_;
  std::vector<uint32_t> groups_with_;  // by how many of them moved
  uint32_t most_ = 0;
};

}  // namespace

absl::Status GroupMoveSpec::AddTo(Model& model, Rank rank) const {
  model.Add([rank](const Problem& problem) -> std::unique_ptr<CustomRule> {
    return std::make_unique<GroupMoveRule>(problem, rank);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
