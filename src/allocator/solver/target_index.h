// Where there may be room: containers by property, the emptiest first.
//
// The containers of each domain of one coarse scope (the buckets) are kept roughly in
// order of how full they are; samples walk along that order, so that one look at a few
// containers finds room in a fleet of any size.
#pragma once

#include <vector>

#include "allocator/solver/state.h"
#include "base/random.h"

namespace shardmanager::solver {

class TargetIndex {
 public:
  // `grouped` false: samples are drawn from all containers, without any order.
  TargetIndex(const State& state, bool grouped, uint64_t seed);

  struct Target {
    ContainerId container;
    bool fits;  // State::Fits() said so
  };

  // Puts places worth a look for a lifted object that comes from `from` into `out`:
  // some of each bucket, or of some buckets where there are many. No duplicates of
  // `from`; other duplicates are rare and harmless.
  void Sample(ObjectId o, ContainerId from, std::vector<Target>& out);
  // The same, but one of each bucket only: a first look.
  void SampleOne(ObjectId o, ContainerId from, std::vector<Target>& out);
  // All open ones but `from`, if they fit or not.
  void All(ContainerId from, std::vector<Target>& out) const;
  // `n` containers, open ones, evenly.
  void SampleEvenly(size_t n, std::vector<ContainerId>& out);

 private:
  struct Bucket {
    std::vector<ContainerId> by_fill;
    size_t cursor = 0;
    size_t looked = 0;  // since it was sorted
  };

  void Sort(Bucket& bucket);
  void SampleBucket(Bucket& bucket, size_t n, ObjectId o, ContainerId from,
                    std::vector<Target>& out);
  void SampleBuckets(size_t n, ObjectId o, ContainerId from, std::vector<Target>& out);
  void SampleWishes(ObjectId o, ContainerId from, std::vector<Target>& out);
  void PickScope();

  const State& state_;
  const bool grouped_;
  Random random_;
  ScopeId scope_;  // of the buckets; kContainerScope: there is one bucket
  std::vector<Bucket> buckets_;
  std::vector<ContainerId> open_;
  // Containers by domain, for scopes in which groups have wishes.
  std::vector<std::vector<std::vector<ContainerId>>> members_;
  std::vector<std::pair<double, ContainerId>> sorting_;  // scratch
  std::vector<ContainerId> evenly_;                      // scratch
  std::vector<ContainerId> full_;                        // scratch
};

}  // namespace shardmanager::solver
