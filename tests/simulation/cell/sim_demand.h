// From which regions clients ask for each shard: drawn, and drawn anew now and then. Each replica
// that serves a shard says it in its server's reports.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "orchestrator/state/partition_io.h"

namespace shardmanager::simulation {

class SimDemand {
 public:
  // From now on shards are asked for, from `regions`.
  void Begin(uint64_t seed, std::vector<std::string> regions);
  bool on() const { return !regions_.empty(); }
  // Where most requests for the shard come from; drawn when it is first asked for.
  const std::string& Of(const std::string& shard);
  // As a report has it: once in a while from regions that do not exist.
  std::vector<orchestrator::RequestsFrom> Reported(const std::string& shard);
  // Some shards are asked for from elsewhere from now on.
  void Change();

 private:
  const std::string& Drawn() { return regions_[random_.Below(regions_.size())]; }

  Random random_{0};
  std::vector<std::string> regions_;
  std::map<std::string, std::string> most_;
};

}  // namespace shardmanager::simulation
