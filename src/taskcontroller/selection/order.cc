#include "taskcontroller/selection/order.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace shardmanager::taskcontroller {
namespace {

// By domain: the first candidate in it.
class FirstIn {
 public:
  CandidateIndex Of(uint32_t domain, CandidateIndex id) {
    return first_.try_emplace(domain, id).first->second;
  }

 private:
  absl::flat_hash_map<uint32_t, CandidateIndex> first_;
};

}  // namespace

std::vector<CandidateIndex> DomainByDomain(const Problem& problem) {
  struct Ranked {
    std::tuple<CandidateIndex, CandidateIndex, CandidateIndex, CandidateIndex> rank;
  };
  FirstIn region;
  FirstIn datacenter;
  FirstIn rack;
  std::vector<Ranked> ranked;
  ranked.reserve(problem.size());
  for (const CandidateIndex id : problem.candidates()) {
    const DomainNumbers& at = problem.candidate(id).domain;
    ranked.push_back(
        {{region.Of(at.region, id), datacenter.Of(at.datacenter, id), rack.Of(at.rack, id), id}});
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  std::vector<CandidateIndex> order;
  order.reserve(problem.size());
  for (const Ranked& r : ranked) order.push_back(std::get<3>(r.rank));
  return order;
}

std::vector<CandidateIndex> RegionFirst(const Problem& problem, std::vector<CandidateIndex> order,
                                        uint32_t region) {
  std::stable_partition(order.begin(), order.end(), [&](CandidateIndex id) {
    return problem.candidate(id).domain.region == region;
  });
  return order;
}

std::vector<uint32_t> RegionsOf(const Problem& problem) {
  std::vector<uint32_t> regions;
  for (const CandidateIndex id : problem.candidates()) {
    const uint32_t region = problem.candidate(id).domain.region;
    if (std::find(regions.begin(), regions.end(), region) == regions.end()) {
      regions.push_back(region);
    }
  }
  return regions;
}

}  // namespace shardmanager::taskcontroller
