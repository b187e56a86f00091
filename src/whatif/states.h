// States of admin.proto, for a partition that begins where a snapshot was taken.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::whatif {

inline bool IsKnownState(const v1::ServerStatus& server) {
  constexpr std::array<std::string_view, 6> kStates = {"live", "draining", "drained",
                                                       "lost", "departed", "down"};
  return std::find(kStates.begin(), kStates.end(), server.state()) != kStates.end();
}

inline bool IsKnownState(const v1::ReplicaStatus& replica) {
  constexpr std::array<std::string_view, 9> kStates = {"reserved",   "preparing", "loading",
                                                       "serving",    "failed",    "demoting",
                                                       "forwarding", "dropping",  "unreachable"};
  return std::find(kStates.begin(), kStates.end(), replica.state()) != kStates.end();
}

inline bool IsLive(const v1::ServerStatus& server) {
  return server.state() == "live" || server.state() == "draining" || server.state() == "drained";
}

inline bool Serves(const v1::ReplicaStatus& replica) {
  return replica.state() == "serving" || replica.state() == "demoting";
}

// The server has the shard, or is loading it.
inline bool IsHeld(const v1::ReplicaStatus& replica) {
  return Serves(replica) || replica.state() == "loading" || replica.state() == "failed";
}

// Or had it when it was lost. Replicas on their way are not there yet, and those that go are gone:
// what is imagined begins with no move under way.
inline bool IsThere(const v1::ReplicaStatus& replica) {
  return IsHeld(replica) || replica.state() == "unreachable";
}

}  // namespace shardmanager::whatif
