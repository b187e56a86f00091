#include "tests/discovery/test_maps.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/map_server.h"

namespace shardmanager::discovery {
namespace {

void AddReplicas(const std::vector<uint32_t>& owners, v1::MapShard& shard) {
  for (uint32_t owner : owners) {
    v1::MapReplica* replica = shard.add_replicas();
    replica->set_server(owner);
    replica->set_role(owners.size() == 1 ? v1::PRIMARY : v1::SECONDARY);
  }
}

}  // namespace

v1::MapSnapshot MakeSnapshot(MapVersion version, const Owners& owners, uint32_t servers) {
  v1::MapSnapshot whole;
  *whole.mutable_version() = version.ToProto();
  for (uint32_t i = 0; i < servers; ++i) {
    v1::MapServer* server = whole.add_servers();
    server->set_index(i);
    server->set_name(absl::StrCat("kv-", i));
    server->set_endpoint(absl::StrCat("127.0.0.1:", 7000 + i));
  }
  for (size_t i = 0; i < owners.size(); ++i) {
    v1::MapShard* shard = whole.add_shards();
    shard->set_index(static_cast<uint32_t>(i));
    shard->set_id(absl::StrCat("s", i));
    if (i > 0) shard->mutable_range()->set_start(absl::StrCat("k", i));
    if (i + 1 < owners.size()) shard->mutable_range()->set_end(absl::StrCat("k", i + 1));
    AddReplicas(owners[i], *shard);
  }
  whole.set_last(true);
  return whole;
}

v1::MapDelta MakeDelta(MapVersion from, MapVersion to, uint32_t shard,
                       const std::vector<uint32_t>& owners) {
  v1::MapDelta delta;
  *delta.mutable_from() = from.ToProto();
  *delta.mutable_version() = to.ToProto();
  v1::MapShard* changed = delta.add_shards();
  changed->set_index(shard);
  AddReplicas(owners, *changed);
  return delta;
}

void PlainMap::Apply(const v1::MapSnapshot& whole) {
  version_ = MapVersion::From(whole.version());
  servers_.clear();
  for (const v1::MapServer& server : whole.servers()) servers_[server.index()] = server;
  shards_.assign(whole.shards().begin(), whole.shards().end());
}

void PlainMap::Apply(const v1::MapDelta& delta) {
  version_ = MapVersion::From(delta.version());
  for (const v1::MapServer& server : delta.servers()) {
    servers_[server.index()] = server;
    if (IsGone(server)) servers_.erase(server.index());
  }
  for (const v1::MapShard& shard : delta.shards()) {
    *shards_.at(shard.index()).mutable_replicas() = shard.replicas();
  }
}

std::vector<std::string> PlainMap::Shards() const {
  std::vector<std::string> lines;
  for (const v1::MapShard& shard : shards_) {
    std::vector<std::string> replicas;
    for (const v1::MapReplica& replica : shard.replicas()) {
      const v1::MapServer& server = servers_.at(replica.server());
      replicas.push_back(absl::StrCat(server.name(), "@", server.endpoint(), "/", replica.role()));
    }
    lines.push_back(absl::StrCat(shard.index(), " ", shard.id(), " [", shard.range().start(), ",",
                                 shard.range().end(), ") ", absl::StrJoin(replicas, " ")));
  }
  return lines;
}

v1::MapSnapshot PlainMap::ToSnapshot() const {
  v1::MapSnapshot whole;
  *whole.mutable_version() = version_.ToProto();
  for (const auto& [index, server] : servers_) *whole.add_servers() = server;
  for (const v1::MapShard& shard : shards_) *whole.add_shards() = shard;
  whole.set_last(true);
  return whole;
}

std::string PlainSubscriber::Take(const Message& message) {
  auto update = WatchUpdate::Parse(PageString(*message));
  if (!update.ok()) return update.status().ToString();
  Received received = receiver_.Receive(*std::move(update));
  if (auto* broken = std::get_if<Broken>(&received)) return broken->reason;
  if (auto* whole = std::get_if<WholeMap>(&received)) {
    map_.Apply(whole->ToSnapshot());
    ++snapshots_;
  }
  if (auto* delta = std::get_if<v1::MapDelta>(&received)) {
    map_.Apply(*delta);
    ++deltas_;
  }
  return "";
}

}  // namespace shardmanager::discovery
