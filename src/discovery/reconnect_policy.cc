#include "discovery/reconnect_policy.h"

#include <algorithm>

namespace shardmanager::discovery {

ReconnectPolicy::Next ReconnectPolicy::OnFailure(bool has_map) {
  constexpr uint64_t kMostDoublings = 20;
  const uint64_t round = std::min<uint64_t>(failures_ / endpoints_, kMostDoublings);
  ++failures_;
  endpoint_ = (endpoint_ + 1) % endpoints_;
  const Duration longest = has_map ? limits_.longest_with_map : limits_.longest;
  const Duration full = std::min(longest, limits_.shortest * (int64_t{1} << round));
  const auto half = static_cast<uint64_t>(full.count()) / 2;
  return {endpoint_, Duration(half + random_.Below(half + 1))};
}

}  // namespace shardmanager::discovery
