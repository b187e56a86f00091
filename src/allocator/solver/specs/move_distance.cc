#include "allocator/solver/specs/move_distance.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::solver {
namespace {

class MoveDistanceRule final : public CustomRule {
 public:
  MoveDistanceRule(const Problem& problem, Rank rank,
                   std::shared_ptr<const std::vector<int32_t>> cost)
      : CustomRule("move distance", rank.level),
        problem_(problem),
        weight_(rank.weight),
        cost_(std::move(cost)),
        largest_(cost_->empty() ? 0 : *std::max_element(cost_->begin(), cost_->end())) {}

  double Arrival(ObjectId o, ContainerId to) const override {
    return weight_ * static_cast<double>(Distance(o, to));
  }
  void Put(ObjectId o, ContainerId to) override { total_ += Distance(o, to); }
  void Lift(ObjectId o, ContainerId from) override { total_ -= Distance(o, from); }
  double Total() const override { return weight_ * static_cast<double>(total_); }

  double MoveChange(ObjectId o, ContainerId from, ContainerId to) override {
    return weight_ * static_cast<double>(Distance(o, to) - Distance(o, from));
  }
  double SwapChange(ObjectId a, ContainerId at_a, ObjectId b, ContainerId at_b) override {
    return MoveChange(a, at_a, at_b) + MoveChange(b, at_b, at_a);
  }
  double MostSaved() const override { return 2 * weight_ * largest_; }

 private:
  int64_t Distance(ObjectId o, ContainerId c) const {
    const ContainerId start = problem_.start[o];
    if (start == c || !start.valid()) return 0;
    return (*cost_)[size_t{start.index()} * problem_.containers + c.index()];
  }

  const Problem& problem_;
  const double weight_;
  const std::shared_ptr<const std::vector<int32_t>> cost_;
  const double largest_;
  int64_t total_ = 0;
};

}  // namespace

absl::Status MoveDistanceSpec::AddTo(Model& model, Rank rank) const {
  const size_t wanted = size_t{model.problem().containers} * model.problem().containers;
  if (cost == nullptr || cost->size() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("move_distance.cost: found ",
                                                   cost == nullptr ? 0 : cost->size(),
                                                   " entries; allowed: ", wanted));
  }
  const auto negative = std::find_if(cost->begin(), cost->end(), [](int32_t c) { return c < 0; });
  if (negative != cost->end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("move_distance.cost: found ", *negative, "; allowed: 0 to 2147483647"));
  }
  model.Add([rank, table = cost](const Problem& problem) {
    return std::make_unique<MoveDistanceRule>(problem, rank, table);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
