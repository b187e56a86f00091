// What an entry of v1::MapDelta.servers says.
#pragma once

#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager {

// There is no server of this index any more. (Every other one has a name.)
inline bool IsGone(const v1::MapServer& server) { return server.name().empty(); }

}  // namespace shardmanager
