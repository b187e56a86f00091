// How many moves may be under way at once, by what they are for: balance does not hold up a
// drain, nor a drain a failover.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "orchestrator/state/tables.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager::orchestrator {

// How many more fit; 0 is no limit.
inline uint32_t RoomLeft(uint32_t most, uint32_t under_way) {
  return most == 0 ? UINT32_MAX : most - std::min(most, under_way);
}

// 0: no limit.
struct Budget {
  uint32_t total = 0;
  uint32_t per_server = 0;
};

// Counts moves from the write that makes the new replica until that one serves, or is gone. A
// move counts at both its servers; one of a failover only where it goes: its source is lost.
class Budgets {
 public:
  // REQUIRES: the spec has its defaults.
  void Adopt(const v1::AppSpec& spec);
  // At most so many replicas in failover, whatever the spec allows; 0: as the spec has it.
  void CapFailovers(uint32_t most);

  // REQUIRES: the replica's cause, server and origin stay the same in between.
  void Take(const Replica& replica) { Count(replica, +1); }
  void Give(const Replica& replica) { Count(replica, -1); }

  const Budget& limits(Cause cause) const { return limits_[Index(cause)]; }
  uint32_t under_way(Cause cause) const { return total_[Index(cause)]; }
  uint32_t under_way(Cause cause, ServerIndex server) const;
  // For balance and for drains.
  uint32_t planned_moves() const { return under_way(Cause::kBalance) + under_way(Cause::kDrain); }

  uint32_t Room(Cause cause) const { return RoomLeft(limits(cause).total, under_way(cause)); }
  // One more fits.
  bool Left(Cause cause) const { return Room(cause) > 0; }
  bool Left(Cause cause, ServerIndex server) const {
    return RoomLeft(limits(cause).per_server, under_way(cause, server)) > 0;
  }

 private:
  using Counts = std::array<uint32_t, kCauses>;

  static size_t Index(Cause cause) { return static_cast<size_t>(cause); }
  void Count(const Replica& replica, int change);
  void CountAt(ServerIndex server, Cause cause, int change);

  std::array<Budget, kCauses> limits_;
  uint32_t most_failovers_ = 0;  // of the spec; 0: no limit
  uint32_t failover_cap_ = 0;    // 0: none
  Counts total_{};
  std::vector<Counts> of_server_;  // those that had none yet may be left out
};

}  // namespace shardmanager::orchestrator
