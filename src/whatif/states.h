// States of admin.proto, for a partition that begins where a snapshot was taken.
#pragma once

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::whatif {

inline bool IsLive(const v1::ServerStatus& server) {
  return server.state() != "lost" && server.state() != "departed" && server.state() != "down";
}

// The server has the shard, or had it when it was lost. Replicas on their way are not there yet,
// and those that go are gone: what is imagined begins with no move under way.
inline bool IsThere(const v1::ReplicaStatus& replica) {
  return replica.state() == "serving" || replica.state() == "loading" ||
         replica.state() == "failed" || replica.state() == "unreachable" ||
         replica.state() == "demoting";
}

}  // namespace shardmanager::whatif
