#include "tests/simulation/cell/sim_loads.h"

#include <limits>

namespace shardmanager::simulation {
namespace {

constexpr double kNoise = 0.02;

}  // namespace

void SimLoads::Begin(uint64_t seed, double of_one, uint32_t most) {
  on_ = true;
  random_ = Random(seed);
  of_one_ = of_one;
  most_ = most;
}

double SimLoads::Drawn() {
  constexpr uint64_t kParts = 1'000;
  const double part = static_cast<double>(random_.Below(kParts)) / kParts;
  return part * of_one_ * (most_ + 0.5);
}

double SimLoads::Of(const std::string& shard) {
  const auto [load, is_new] = loads_.try_emplace(shard, 0);
  if (is_new) load->second = Drawn();
  return load->second;
}

double SimLoads::Reported(double load) {
  constexpr uint64_t kParts = 1'000;
  const double noise = 2 * static_cast<double>(random_.Below(kParts)) / kParts - 1;
  if (lies_ && random_.Below(50) == 0) {
    return random_.Below(2) == 0 ? -1 : std::numeric_limits<double>::quiet_NaN();
  }
  return load * (1 + kNoise * noise);
}

void SimLoads::Change() {
  for (auto& [shard, load] : loads_) {
    if (random_.Below(4) == 0) load = Drawn();
  }
}

}  // namespace shardmanager::simulation
