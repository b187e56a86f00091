// One version of one app's shard map, as lookups use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dense_id.h"
#include "model/map_version.h"
#include "router/map_layout.h"
#include "router/server_health.h"
#include "shardmanager/types.h"

namespace shardmanager::router {

// A server as the map names it.
struct MappedServer {
  std::string name;
  std::string endpoint;  // "host:port"
  FaultDomain fault_domain;
  // How it does, as our requests see it: the same over all versions of the map that name the same
  // server.
  std::shared_ptr<ServerHealth> health;
};

// Of the same name, at the same place.
bool SameServer(const MappedServer& a, const MappedServer& b);

// In 4 bytes: a map has very many.
class MappedReplica {
 public:
  MappedReplica(ServerIndex server, Role role, bool behind_primary = false)
      : server_(server.index()),
        secondary_(role == Role::kSecondary),
        behind_primary_(behind_primary) {}

  ServerIndex server() const { return ServerIndex(server_); }
  // A secondary that answers only what any replica may answer.
  bool behind_primary() const { return behind_primary_ != 0; }
  Role role() const { return secondary_ ? Role::kSecondary : Role::kPrimary; }

 private:
  uint32_t server_ : 30;
  uint32_t secondary_ : 1;
  uint32_t behind_primary_ : 1;
};

// Immutable. Versions of one layout share it, and share all replicas but those of the
// blocks of shards that changed: a delta costs what it touches, not the map's size.
class ShardMap {
 public:
  MapVersion version() const { return version_; }
  const MapLayout& layout() const { return *layout_; }

  // Those that serve the shard now; empty: none does. REQUIRES: a shard of layout().
  std::span<const MappedReplica> replicas(ShardIndex shard) const {
    const Block& block = *blocks_[shard.index() / kBlockShards];
    const size_t at = shard.index() % kBlockShards;
    return std::span(block.replicas)
        .subspan(block.begins[at], block.begins[at + 1] - block.begins[at]);
  }
  // REQUIRES: of a replica of this map.
  const MappedServer& server(ServerIndex server) const { return *(*servers_)[server.index()]; }

  // All that it names, also those that serve nothing.
  template <typename Visit>
  void ForEachServer(const Visit& visit) const {
    for (const auto& server : *servers_) {
      if (server != nullptr) visit(*server);
    }
  }

  static constexpr size_t kMostReplicas = 255;  // of one shard; 15 are allowed

 private:
  friend class MapHolder;

  static constexpr size_t kBlockShards = 256;
  struct Block {
    // Where each shard's replicas begin, and the end.
    std::array<uint16_t, kBlockShards + 1> begins{};
    std::vector<MappedReplica> replicas;
  };
  using Servers = std::vector<std::shared_ptr<const MappedServer>>;

  MapVersion version_;
  std::shared_ptr<const MapLayout> layout_;
  std::shared_ptr<const Servers> servers_;  // by index; null where there is none
  std::vector<std::shared_ptr<const Block>> blocks_;
};

// Are the shards served by the same servers, in the same roles and order?
bool SameServers(const ShardMap& a, ShardIndex in_a, const ShardMap& b, ShardIndex in_b);

}  // namespace shardmanager::router
