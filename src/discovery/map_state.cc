#include "discovery/map_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::discovery {
namespace {

// `known(index)`: is there such a server?
template <typename Known>
absl::Status CheckReplicas(const v1::MapShard& shard, const Known& known) {
  for (const v1::MapReplica& replica : shard.replicas()) {
    if (known(replica.server())) continue;
    return absl::InvalidArgumentError(absl::StrCat("shard ", shard.index(), " is on server ",
                                                   replica.server(), ", which is not listed"));
  }
  return absl::OkStatus();
}

Change::Entries Sorted(std::map<uint32_t, std::string> entries) {
  Change::Entries sorted;
  sorted.reserve(entries.size());
  for (auto& [index, bytes] : entries) sorted.emplace_back(index, std::move(bytes));
  return sorted;
}

}  // namespace

absl::Status MapState::Decode(const v1::MapSnapshot& whole, MapState* state) {
  MapState next;
  next.version_ = MapVersion::From(whole.version());
  next.cell_ = whole.cell();
  next.name_ends_.reserve(static_cast<size_t>(whole.shards_size()));
  next.replicas_.reserve(static_cast<size_t>(whole.shards_size()));
  if (absl::Status status = next.Add(whole); !status.ok()) return status;
  *state = std::move(next);
  return absl::OkStatus();
}

absl::Status MapState::Decode(const WholeMap& whole, MapState* state) {
  MapState next;
  next.version_ = whole.version();
  next.cell_ = whole.cell();
  next.name_ends_.reserve(whole.shards());
  next.replicas_.reserve(whole.shards());
  absl::Status added =
      whole.ForEachPiece([&next](const v1::MapSnapshot& part) { return next.Add(part); });
  if (added.ok()) *state = std::move(next);
  return added;
}

absl::Status MapState::Add(const v1::MapSnapshot& part) {
  for (const v1::MapServer& server : part.servers()) {
    servers_[server.index()] = EncodeServer(server);
  }
  const auto known = [&](uint32_t server) { return servers_.contains(server); };
  for (const v1::MapShard& shard : part.shards()) {
    if (shard.index() != replicas_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard index ", shard.index(), " where ", replicas_.size(), " must come"));
    }
    if (absl::Status status = CheckReplicas(shard, known); !status.ok()) return status;
    names_ += EncodeShardName(shard);
    name_ends_.push_back(names_.size());
    replicas_.push_back(EncodeReplicas(shard));
  }
  return absl::OkStatus();
}

absl::Status MapState::Decode(const v1::MapDelta& delta, Change* change) const {
  std::map<uint32_t, std::string> servers;
  for (const v1::MapServer& server : delta.servers()) {
    servers[server.index()] = EncodeServer(server);
  }
  const auto known = [&](uint32_t server) {
    const auto changed = servers.find(server);
    return changed == servers.end() ? servers_.contains(server) : !changed->second.empty();
  };
  std::map<uint32_t, std::string> shards;
  for (const v1::MapShard& shard : delta.shards()) {
    if (shard.index() >= replicas_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("shard index ", shard.index(), " in a map of ",
                                                     replicas_.size(), " shards"));
    }
    if (absl::Status status = CheckReplicas(shard, known); !status.ok()) return status;
    shards[shard.index()] = EncodeReplicas(shard);
  }
  *change = {MapVersion::From(delta.from()), MapVersion::From(delta.version()),
             Sorted(std::move(servers)), Sorted(std::move(shards))};
  return absl::OkStatus();
}

void MapState::Apply(const Change& change) {
  for (const auto& [index, server] : change.servers) {
    if (server.empty()) {
      servers_.erase(index);
    } else {
      servers_[index] = server;
    }
  }
  for (const auto& [index, replicas] : change.shards) replicas_[index] = replicas;
  version_ = change.to;
}

bool MapState::SameLayout(const MapState& other) const {
  return name_ends_ == other.name_ends_ && names_ == other.names_;
}

Change MapState::DifferenceTo(const MapState& next) const {
  Change change{version_, next.version_, {}, {}};
  for (const auto& [index, server] : next.servers_) {
    auto mine = servers_.find(index);
    if (mine == servers_.end() || mine->second != server)
      change.servers.emplace_back(index, server);
  }
  for (const auto& [index, server] : servers_) {
    if (!next.servers_.contains(index)) change.servers.emplace_back(index, "");
  }
  std::sort(change.servers.begin(), change.servers.end());
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i] != next.replicas_[i]) {
      change.shards.emplace_back(static_cast<uint32_t>(i), next.replicas_[i]);
    }
  }
  return change;
}

std::vector<Message> MapState::EncodeParts(size_t part_bytes) const {
  SnapshotEncoder encoder(version_, cell_, part_bytes);
  for (const auto& [index, server] : servers_) encoder.AddServer(server);
  for (size_t i = 0; i < replicas_.size(); ++i) encoder.AddShard(ShardName(i), replicas_[i]);
  return encoder.Finish();
}

std::string_view MapState::ShardName(size_t index) const {
  const size_t begin = index == 0 ? 0 : name_ends_[index - 1];
  return std::string_view(names_).substr(begin, name_ends_[index] - begin);
}

}  // namespace shardmanager::discovery
