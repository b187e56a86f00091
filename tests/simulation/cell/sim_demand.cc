#include "tests/simulation/cell/sim_demand.h"

#include <utility>

namespace shardmanager::simulation {

void SimDemand::Begin(uint64_t seed, std::vector<std::string> regions) {
  random_ = Random(seed);
  regions_ = std::move(regions);
}

const std::string& SimDemand::Of(const std::string& shard) {
  const auto [region, is_new] = most_.try_emplace(shard);
  if (is_new) region->second = Drawn();
  return region->second;
}

std::vector<orchestrator::RequestsFrom> SimDemand::Reported(const std::string& shard) {
  if (random_.Below(20) == 0) return {{"nowhere", 1'000'000}, {"", 7}};
  return {{Of(shard), 30 + random_.Below(20)}, {Drawn(), random_.Below(10)}};
}

void SimDemand::Change() {
  for (auto& [shard, region] : most_) {
    if (random_.Below(2) == 0) region = Drawn();
  }
}

}  // namespace shardmanager::simulation
