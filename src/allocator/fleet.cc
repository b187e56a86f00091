#include "allocator/fleet.h"

#include <algorithm>

namespace shardmanager::allocator {

uint32_t DomainOf(const ServerInfo& server, Spread spread) {
  switch (spread) {
    case Spread::kServer:
      return server.server.index();
    case Spread::kRack:
      return server.rack;
    case Spread::kDatacenter:
      return server.datacenter;
    case Spread::kRegion:
      return server.region;
  }
  return server.server.index();
}

Fleet::Fleet(const Snapshot& snapshot) : servers_(snapshot.servers) {
  counts_.resize(servers_.size());
  for (Slot slot = 0; slot < servers_.size(); ++slot) counts_[slot] = servers_[slot].other_replicas;
  for (const ShardInfo& shard : snapshot.shards) {
    for (const ReplicaInfo& replica : shard.replicas) {
      const Slot slot = SlotOf(replica.server);
      if (slot != kNone) ++counts_[slot];
    }
  }
  for (Slot slot = 0; slot < servers_.size(); ++slot) {
    if (!servers_[slot].accepts) continue;
    all_.emplace(counts_[slot], slot);
    RegionSet(servers_[slot].region).emplace(counts_[slot], slot);
  }
}

const Fleet::ByCount* Fleet::region(uint32_t region) const {
  auto it = std::lower_bound(regions_.begin(), regions_.end(), region,
                             [](const auto& entry, uint32_t r) { return entry.first < r; });
  return it == regions_.end() || it->first != region ? nullptr : &it->second;
}

Fleet::ByCount& Fleet::RegionSet(uint32_t region) {
  auto it = std::lower_bound(regions_.begin(), regions_.end(), region,
                             [](const auto& entry, uint32_t r) { return entry.first < r; });
  if (it == regions_.end() || it->first != region) it = regions_.insert(it, {region, {}});
  return it->second;
}

Slot Fleet::SlotOf(ServerIndex server) const {
  auto it = std::lower_bound(servers_.begin(), servers_.end(), server,
                             [](const ServerInfo& s, ServerIndex id) { return s.server < id; });
  if (it == servers_.end() || it->server != server) return kNone;
  return static_cast<Slot>(it - servers_.begin());
}

void Fleet::SetCount(Slot slot, uint32_t count) {
  if (servers_[slot].accepts) {
    ByCount& in_region = RegionSet(servers_[slot].region);
    all_.erase({counts_[slot], slot});
    in_region.erase({counts_[slot], slot});
    all_.emplace(count, slot);
    in_region.emplace(count, slot);
  }
  counts_[slot] = count;
}

}  // namespace shardmanager::allocator
