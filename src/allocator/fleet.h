// The servers of a snapshot, kept in order of how full they are.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "allocator/allocator.h"

namespace shardmanager::allocator {

// Position of a server in Snapshot::servers.
using Slot = uint32_t;

// Replica counts per server with cheap "least full in a region" queries. Only
// servers that accept replicas are offered; all are counted.
class Fleet {
 public:
  explicit Fleet(const Snapshot& snapshot);

  // Servers that accept, least full first; (count, slot).
  using ByCount = std::set<std::pair<uint32_t, Slot>>;
  const ByCount& all() const { return all_; }
  // Null when the region has no accepting server.
  const ByCount* region(uint32_t region) const;
  const std::vector<std::pair<uint32_t, ByCount>>& regions() const { return regions_; }

  // Slot of a server id; kNone when the snapshot does not list it.
  Slot SlotOf(ServerIndex server) const;
  const ServerInfo& info(Slot slot) const { return servers_[slot]; }
  uint32_t count(Slot slot) const { return counts_[slot]; }
  bool HasRoom(Slot slot) const {
    return servers_[slot].accepts &&
           (servers_[slot].capacity == 0 || counts_[slot] < servers_[slot].capacity);
  }

  void Add(Slot slot) { SetCount(slot, counts_[slot] + 1); }
  void Remove(Slot slot) { SetCount(slot, counts_[slot] - 1); }

  static constexpr Slot kNone = UINT32_MAX;

 private:
  void SetCount(Slot slot, uint32_t count);
  ByCount& RegionSet(uint32_t region);

  const std::vector<ServerInfo>& servers_;
  std::vector<uint32_t> counts_;
  ByCount all_;
  std::vector<std::pair<uint32_t, ByCount>> regions_;  // ascending by region
};

// The number of the fault domain that a server is in, at the level of `spread`.
uint32_t DomainOf(const ServerInfo& server, Spread spread);

}  // namespace shardmanager::allocator
