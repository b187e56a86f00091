#include "model/map/whole_map.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/map_server.h"

namespace shardmanager {
namespace {

using Servers = std::map<uint32_t, const v1::MapServer*>;
using Shards = std::map<uint32_t, const v1::MapShard*>;

void ReplaceReplicas(const Shards& changes, v1::MapSnapshot& piece) {
  for (v1::MapShard& shard : *piece.mutable_shards()) {
    const auto change = changes.find(shard.index());
    if (change != changes.end()) *shard.mutable_replicas() = change->second->replicas();
  }
}

// All that changed are in the first piece, before any shard that may be on one of them.
void ReplaceServers(const Servers& changes, bool is_first, v1::MapSnapshot& piece) {
  auto& servers = *piece.mutable_servers();
  servers.erase(
      std::remove_if(servers.begin(), servers.end(),
                     [&](const v1::MapServer& server) { return changes.contains(server.index()); }),
      servers.end());
  if (!is_first) return;
  for (const auto& [index, server] : changes) {
    if (!IsGone(*server)) *servers.Add() = *server;
  }
}

}  // namespace

WholeMap::WholeMap(SnapshotPart part) : version_(part.version()), cell_(part.cell()) {
  Add(std::move(part));
}

void WholeMap::Add(SnapshotPart part) {
  shards_ += part.shards();
  parts_.push_back(std::move(part));
}

void WholeMap::Apply(const v1::MapDelta& delta) {
  version_ = MapVersion::From(delta.version());
  Servers servers;
  for (const v1::MapServer& server : delta.servers()) servers[server.index()] = &server;
  Shards shards;
  for (const v1::MapShard& shard : delta.shards()) shards[shard.index()] = &shard;
  for (SnapshotPart& part : parts_) {
    const bool is_first_part = &part == &parts_.front();
    const bool has_server = !servers.empty() && (is_first_part || part.has_servers());
    const auto has_shard = [&part](const auto& shard) { return part.MayHave(shard.first); };
    if (!has_server && std::none_of(shards.begin(), shards.end(), has_shard)) continue;
    bool is_first = is_first_part;
    part.Change([&](v1::MapSnapshot& piece) {
      ReplaceServers(servers, std::exchange(is_first, false), piece);
      ReplaceReplicas(shards, piece);
    });
  }
}

absl::Status WholeMap::ForEachPiece(const Take& take) const {
  for (const SnapshotPart& part : parts_) {
    if (absl::Status status = part.ForEachPiece(take); !status.ok()) return status;
  }
  return absl::OkStatus();
}

v1::MapSnapshot WholeMap::ToSnapshot() const {
  v1::MapSnapshot whole;
  for (const SnapshotPart& part : parts_) part.MergeInto(whole);
  *whole.mutable_version() = version_.ToProto();
  whole.set_cell(cell_);
  whole.set_last(true);
  return whole;
}

}  // namespace shardmanager
