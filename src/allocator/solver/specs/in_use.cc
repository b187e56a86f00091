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
        objects_(problem.containers, 0),
        fill_(problem.containers, 0) {
    SetSizes();
  }

  double Arrival(ObjectId, ContainerId to) const override {
    return objects_[to] == 0 ? cost_[to] : 0;
  }
  void Put(ObjectId o, ContainerId to) override {
    if (objects_[to]++ == 0) total_ += cost_[to];
    fill_[to] += size_[o] * per_size_[to];
  }
  void Lift(ObjectId o, ContainerId from) override {
    fill_[from] -= size_[o] * per_size_[from];
    if (--objects_[from] > 0) return;
    total_ -= cost_[from];
    fill_[from] = 0;  // whatever rounding has left
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

  double MoveSlope(ObjectId o, ContainerId from, ContainerId to) const override {
    return Rise(from, -size_[o]) + Rise(to, size_[o]);
  }
  double SwapSlope(ObjectId a, ContainerId at_a, ObjectId b, ContainerId at_b) const override {
    const double more = size_[b] - size_[a];
    return Rise(at_a, more) + Rise(at_b, -more);
  }

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
  // Sizes are parts of the capacity of all, the mean over the metrics in which it is limited.
  void SetSizes() {
    const Problem& p = problem_;
    size_.assign(p.objects, 0);
    per_size_.assign(p.containers, 0);
    for (uint32_t m = 0; m < p.metrics.size(); ++m) {
      Amount all = 0;
      for (uint32_t c = 0; c < p.containers; ++c) {
        all = std::min(kUnlimited, all + p.CapacityOf(ContainerId(c), MetricId(m)));
      }
      if (all <= 0 || all >= kUnlimited) continue;
      const double part = 1 / static_cast<double>(all);
      for (uint32_t o = 0; o < p.objects; ++o)
        size_[ObjectId(o)] += part * p.LoadOf(ObjectId(o))[m];
      for (uint32_t c = 0; c < p.containers; ++c) {
        per_size_[ContainerId(c)] +=
            part * static_cast<double>(p.CapacityOf(ContainerId(c), MetricId(m)));
      }
    }
    for (double& size : per_size_) size = size > 0 ? 1 / size : 0;
  }

  // Where something stands, the cost goes from nothing to all of it with the fill, first steeply
  // and then slowly: what goes from an emptier container to a fuller one saves something.
  static double Slope(double fill) { return fill * (2 - fill); }
  double Rise(ContainerId c, double size) const {
    const double fill = fill_[c];
    return cost_[c] * (Slope(fill + size * per_size_[c]) - Slope(fill));
  }

  const Problem& problem_;
  const Table<ContainerId, double> cost_;
  const double dearest_;
  Table<ContainerId, uint32_t> objects_;
  Table<ObjectId, double> size_;
  Table<ContainerId, double> per_size_;  // fill for each unit of size
  Table<ContainerId, double> fill_;      // 0: nothing stands there; 1: it is full
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
