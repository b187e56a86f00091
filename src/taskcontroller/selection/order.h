// In which order candidates are taken when not all can be.
#pragma once

#include <vector>

#include "taskcontroller/selection/problem.h"

namespace shardmanager::taskcontroller {

// By priority, but fault domains one after the other: first the rack of the first candidate, then
// the other racks of its datacenter, then the other datacenters of its region, and so on, each
// domain in the order of its first candidate. So ten containers of one rack go before ten in ten
// racks.
std::vector<CandidateIndex> DomainByDomain(const Problem& problem);

// The same order with the candidates of this region first.
std::vector<CandidateIndex> RegionFirst(const Problem& problem, std::vector<CandidateIndex> order,
                                        uint32_t region);

// The regions of all candidates, in the order of their first ones.
std::vector<uint32_t> RegionsOf(const Problem& problem);

}  // namespace shardmanager::taskcontroller
