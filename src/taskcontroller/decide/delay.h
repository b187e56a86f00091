// Why an operation has to wait, as data. describe/delays.h says it in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dense_id.h"

namespace shardmanager::taskcontroller {

enum class DelayReason : uint8_t {
  kNotReady,         // the control plane does not know yet what all servers hold
  kClosed,           // nothing is approved for the app: `text`
  kUnknownServer,    // no such server has registered
  kLifeUnknown,      // the report does not say which life of the server it means
  kLifeNotSeen,      // the life has not registered yet
  kFormerLife,       // the life is over: never approved
  kOtherOperation,   // another operation of the same server goes first: `text`
  kServerCap,        // `count` servers are away or held, of `limit` that may be
  kShardCap,         // `shard` has `count` replicas, and needs `limit`
  kConflict,         // `shard` can lose one replica, and another server goes first
  kReserved,         // `shard` can lose one replica, which is kept for an older operation
  kDraining,         // `count` replicas have still to leave the server
  kPinned,           // `shard` has to leave the server, and is pinned
  kInTransition,     // `count` replicas of the server are being added, dropped or changed
  kLapsed,           // its approval was not used in time: others go first
  kStalled,          // what had to leave its server did not: others go first
  kPreparedAlone,    // another server is prepared, and one of the two is prepared alone
  kTooManyUnderWay,  // `count` operations are under way: the record of more would be too large
  kMapMissing,       // the app's own orchestrator has not said what is where: `text`
};
// The name for programs (OperationDelay.reason).
std::string_view NameOf(DelayReason reason);

struct Delay {
  DelayReason reason = DelayReason::kNotReady;
  uint32_t count = 0;
  uint32_t limit = 0;
  ShardIndex shard;                  // or invalid
  std::vector<ServerIndex> servers;  // in the way, ascending, at most kMostServersNamed
  std::string text;

  static constexpr size_t kMostServersNamed = 10;
};

}  // namespace shardmanager::taskcontroller
