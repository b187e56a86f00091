// The two ends of a handover, as the server library knows them.
#pragma once

#include <string>
#include <string_view>

#include "shardmanager/types.h"

namespace shardmanager::server {

// The new owner, to whom the old one forwards. Also the new primary, to whom the old one,
// which is a secondary now, forwards what is meant for the primary.
struct Successor {
  std::string server;
  std::string endpoint;
  ShardEpoch epoch;  // of its grant
  friend bool operator==(const Successor&, const Successor&) = default;
};

// Who forwards a request, and to which grant, as its metadata say. The epoch is what
// tells this handover from an earlier one between the same servers.
struct Forwarder {
  std::string_view server;
  ShardEpoch epoch;
};

}  // namespace shardmanager::server
