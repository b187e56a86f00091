// How evenly requested keys are spread over all hashes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shardmanager {

// Equal parts of all hashes.
inline constexpr size_t kHashParts = 64;
inline constexpr double kMostEntropyBits = 6;  // log2(kHashParts)
// With fewer requests than this, chance alone would lower the entropy by more than its correction
// (below) makes good.
inline constexpr double kLeastForEntropy = 10 * kHashParts;

// The part that the key is in.
size_t HashPartOf(std::string_view key);

// The entropy of the counts, in bits: kMostEntropyBits if all are alike, 0 if only one is not 0.
// The sample is finite, so the sum -p log p is too low; (parts that occur - 1) / 2n nats are added
// (G. Miller, "Note on the bias of information estimates", 1955). Nothing: the counts are fewer
// than kLeastForEntropy.
std::optional<double> EntropyBits(std::span<const double, kHashParts> counts);

}  // namespace shardmanager
