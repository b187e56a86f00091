#include "model/map/whole_map.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/map_server.h"

namespace shardmanager {
namespace {

using Servers = std::map<uint32_t, const v1::MapServer*>;
using Shards = std::map<uint32_t, const v1::MapShard*>;

void ReplaceReplicas(const Shards& changes, v1::MapSnapshot& part) {
  for (v1::MapShard& shard : *part.mutable_shards()) {
    const auto change = changes.find(shard.index());
    if (change != changes.end()) *shard.mutable_replicas() = change->second->replicas();
  }
}

// All that changed are in the first part, before any shard that may be on one of them.
void ReplaceServers(const Servers& changes, bool is_first, v1::MapSnapshot& part) {
  auto& servers = *part.mutable_servers();
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

WholeMap::WholeMap(const v1::MapSnapshot& part)
    : version_(MapVersion::From(part.version())), cell_(part.cell()) {
  Add(part);
}

void WholeMap::Add(const v1::MapSnapshot& part) {
  shards_ += static_cast<size_t>(part.shards_size());
  parts_.push_back(Pack(part));
}

WholeMap::Part WholeMap::Pack(const v1::MapSnapshot& part) {
  Part packed{.bytes = part.SerializeAsString(),
              .first = UINT32_MAX,
              .last = 0,
              .has_servers = part.servers_size() > 0};
  for (const v1::MapShard& shard : part.shards()) {
    packed.first = std::min(packed.first, shard.index());
    packed.last = std::max(packed.last, shard.index());
  }
  return packed;
}

void WholeMap::Apply(const v1::MapDelta& delta) {
  version_ = MapVersion::From(delta.version());
  Servers servers;
  for (const v1::MapServer& server : delta.servers()) servers[server.index()] = &server;
  Shards shards;
  for (const v1::MapShard& shard : delta.shards()) shards[shard.index()] = &shard;
  for (Part& part : parts_) {
    const bool is_first = &part == &parts_.front();
    const bool has_server = !servers.empty() && (is_first || part.has_servers);
    const auto shard = shards.lower_bound(part.first);
    if (!has_server && (shard == shards.end() || !part.Has(shard->first))) continue;
    v1::MapSnapshot decoded;
    if (!decoded.ParseFromString(part.bytes)) continue;  // whoever reads it will see
    if (has_server) ReplaceServers(servers, is_first, decoded);
    ReplaceReplicas(shards, decoded);
    part = Pack(decoded);
  }
}

absl::Status WholeMap::ForEachPart(const Take& take) const {
  for (const Part& part : parts_) {
    v1::MapSnapshot decoded;
    if (!decoded.ParseFromString(part.bytes)) {
      return absl::InvalidArgumentError("a part of the map has text that is not UTF-8");
    }
    if (absl::Status status = take(decoded); !status.ok()) return status;
  }
  return absl::OkStatus();
}

v1::MapSnapshot WholeMap::ToSnapshot() const {
  v1::MapSnapshot whole;
  for (const Part& part : parts_) static_cast<void>(whole.MergeFromString(part.bytes));
  *whole.mutable_version() = version_.ToProto();
  whole.set_cell(cell_);
  whole.set_last(true);
  return whole;
}

}  // namespace shardmanager
