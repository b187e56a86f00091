// What container operations, or a maintenance, ask for one server. The orchestrator obeys it.
#pragma once

#include <string>

#include "base/time.h"

namespace shardmanager {

// What has to leave a server before it may be stopped.
struct Leaving {
  bool primaries = false;
  bool secondaries = false;
  friend bool operator==(const Leaving&, const Leaving&) = default;
};

struct ServerOrder {
  std::string server;
  // An operation, or a maintenance, is prepared, approved or has begun: the server is given no new
  // replica, and no role of primary where another server can have it.
  bool closed = false;
  // These leave it, and do not come back before that is over.
  Leaving leaving;
  // The id of the container operation for which they leave; of several, of one.
  std::string operation = {};
  // It is to be stopped sooner or later: what leaves other servers goes elsewhere if there is room.
  bool avoid = false;
  // It is away as planned until then: until failover.delay_ms after that it is not given up.
  TimePoint away_until = TimePoint::min();
  friend bool operator==(const ServerOrder&, const ServerOrder&) = default;
};

}  // namespace shardmanager
