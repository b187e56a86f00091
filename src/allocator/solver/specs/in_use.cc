#include "allocator/solver/specs/in_use.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::solver {
namespace {

class InUseRule final : public CustomRule {
 public:
  InUseRule(const Problem& problem, Table<ContainerId, double> cost, int level)
      : CustomRule("servers_in_use", level),
        problem_(problem),
        cost_(std::move(cost)),
        dearest_(cost_.empty() ? 0 : *std::max_element(cost_.begin(), cost_.end())),
        objects_(problem.containers, 0) {}

  double Arrival(ObjectId, ContainerId to) const override {
    return objects_[to] == 0 ? cost_[to] : 0;
  }
  void Put(ObjectId, ContainerId to) override {
    if (objects_[to]++ == 0) total_ += cost_[to];
  }
  void Lift(ObjectId, ContainerId from) override {
    if (--objects_[from] == 0) total_ -= cost_[from];
  }
  double Total() const override { return total_; }
  double SavedIfEmpty(ContainerId c) const override { return objects_[c] > 0 ? cost_[c] : 0; }

  double MoveChange(ObjectId, ContainerId from, ContainerId to) override {
    return from == to
               ? 0
               : (objects_[to] == 0 ? cost_[to] : 0) - (objects_[from] == 1 ? cost_[from] : 0);
  }
  double SwapChange(ObjectId, ContainerId, ObjectId, ContainerId) override { return 0; }
  double MostSaved() const override { return dearest_; }

  Payment WhoPays() const override {
    Payment payment;
    double most = 0;
    for (uint32_t i = 0; i < problem_.containers; ++i) {
      const ContainerId c(i);
      const double cost = SavedIfEmpty(c);
      payment.places += cost > 0;
      if (cost <= most) continue;
      most = cost;
      payment.worst = ContainerName(problem_, c);
    }
    payment.help =
        "more room on servers that cost less, or a `cost` of 0 for those that may be used";
    return payment;
  }

 private:
  const Problem& problem_;
  const Table<ContainerId, double> cost_;
  const double dearest_;
  Table<ContainerId, uint32_t> objects_;
  double total_ = 0;
};

}  // namespace

absl::Status InUseSpec::AddTo(Model& model, Rank rank) const {
  const uint32_t containers = model.problem().containers;
  if (!cost.empty() && cost.size() != containers) {
    return absl::InvalidArgumentError(
        absl::StrCat("in_use.cost: found ", cost.size(), " entries; allowed: ", containers));
  }
  Table<ContainerId, double> weighed;
  for (uint32_t i = 0; i < containers; ++i) {
    const double one = cost.empty() ? 1 : cost[ContainerId(i)];
    if (!(one >= 0 && one <= 1e9)) {
      return absl::InvalidArgumentError(
          absl::StrCat("in_use.cost: found ", one, "; allowed: 0 to 1e9"));
    }
    weighed.push_back(rank.weight * one);
  }
  model.Add([weighed = std::move(weighed), level = rank.level](const Problem& problem) {
    return std::make_unique<InUseRule>(problem, weighed, level);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
