// The custom rule of a hinge (rules.h): for specs that lower to one.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "allocator/solver/rules.h"

namespace shardmanager::solver {

class HingeRule : public CustomRule {
 public:
  HingeRule(std::string name, int level, const Problem& problem, Hinge hinge)
      : CustomRule(std::move(name), level),
        problem_(problem),
        hinge_(std::move(hinge)),
        above_(hinge_.base) {}

  double Arrival(ObjectId o, ContainerId to) const override {
    const double before = above_[DomainOf(to)];
    return hinge_.weight * (std::max(0.0, before + hinge_.load[o]) - std::max(0.0, before));
  }
  void Put(ObjectId o, ContainerId to) override { above_[DomainOf(to)] += hinge_.load[o]; }
  void Lift(ObjectId o, ContainerId from) override { above_[DomainOf(from)] -= hinge_.load[o]; }
  double Total() const override {
    double sum = 0;
    for (double above : above_) sum += std::max(0.0, above);
    return hinge_.weight * sum;
  }
  const Hinge* hinge() const override { return &hinge_; }
  Payment WhoPays() const override {
    Payment payment;
    double most = kTolerance;
    for (uint32_t d = 0; d < above_.size(); ++d) {
      payment.places += above_[DomainId(d)] > kTolerance;
      if (above_[DomainId(d)] <= most) continue;
      most = above_[DomainId(d)];
      payment.worst = DomainName(problem_, hinge_.scope, DomainId(d));
    }
    return payment;
  }

 protected:
  DomainId DomainOf(ContainerId c) const {
    return hinge_.scope == kContainerScope ? DomainId(c.index())
                                           : problem_.scopes[hinge_.scope.index() - 1].domain_of[c];
  }
  // The sum of the hinge, before max(0, ...).
  double Above(DomainId d) const { return above_[d]; }

 private:
  const Problem& problem_;
  const Hinge hinge_;
  Table<DomainId, double> above_;
};

}  // namespace shardmanager::solver
