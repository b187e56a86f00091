// What clients ask of each shard in all: drawn, and drawn anew now and then. Each replica that
// serves a shard carries its part of it, and says so in its server's reports.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/random.h"

namespace shardmanager::simulation {

inline const std::string kLoadMetric = "load";

class SimLoads {
 public:
  // From now on shards have a load. No shard has more than `most` replicas should carry, each
  // `of_one`, and a little more than that.
  void Begin(uint64_t seed, double of_one, uint32_t most);
  bool on() const { return on_; }
  // Of all replicas of the shard; drawn when it is first asked for.
  double Of(const std::string& shard);
  // As a report has it: by up to 2 % another one, and once in a while not to be believed.
  double Reported(double load);
  // Some shards have another load from now on.
  void Change();
  // Reports are as they should be from now on.
  void BecomeHonest() { lies_ = false; }

 private:
  double Drawn();

  bool on_ = false;
  bool lies_ = true;
  Random random_{0};
  double of_one_ = 0;
  uint32_t most_ = 0;
  std::map<std::string, double> loads_;
};

}  // namespace shardmanager::simulation
