#include "model/traffic/key_spread.h"

#include <algorithm>
#include <cmath>

#include "routing/routed_shards.h"

namespace shardmanager {

size_t HashPartOf(std::string_view key) {
  return static_cast<size_t>(routing::Hash(key, /*seed=*/0) >> 58);
}

std::optional<double> EntropyBits(std::span<const double, kHashParts> counts) {
  double total = 0;
  for (const double count : counts) total += count;
  if (total < kLeastForEntropy) return std::nullopt;
  double bits = 0;
  double parts = 0;
  for (const double count : counts) {
    if (count <= 0) continue;
    const double share = count / total;
    bits -= share * std::log2(share);
    ++parts;
  }
  const double correction = (parts - 1) / (2 * total) * M_LOG2E;
  return std::clamp(bits + correction, 0.0, kMostEntropyBits);
}

}  // namespace shardmanager
