// Why an operation was not chosen.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "taskcontroller/decide/away.h"
#include "taskcontroller/decide/delay.h"
#include "taskcontroller/decide/docket.h"
#include "taskcontroller/state/fleet_view.h"

namespace shardmanager::taskcontroller {

// All that is missing to let it go are replicas that are away for an operation that has begun, and
// so will be back.
bool IsBlockedByBegunOnly(const Away& away, const Entry& entry);

class Blame {
 public:
  // `chosen`: by entry of the docket. All must outlive it.
  Blame(const FleetView& view, const Away& away, const Docket& docket,
        const std::vector<bool>& chosen);

  // REQUIRES: the entry was not chosen.
  Delay Of(size_t entry) const;

 private:
  // The shard that keeps the entry from being chosen; invalid: none does.
  ShardIndex ShardInTheWay(const Entry& entry) const;
  void FindWhoIsAway();
  Delay OfServers() const;

  const FleetView& view_;
  const Away& away_;
  const Docket& docket_;
  std::vector<uint32_t> room_;          // by shard, before any was chosen
  std::vector<uint32_t> room_left_;     // by shard
  std::vector<ServerIndex> chosen_;     // their servers, those that were away left out
  std::vector<ShardIndex> in_the_way_;  // by entry
  // By shard in the way: servers whose replica is away, or goes.
  absl::flat_hash_map<ShardIndex, std::vector<ServerIndex>> missing_;
};

}  // namespace shardmanager::taskcontroller
