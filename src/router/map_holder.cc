#include "router/map_holder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/map_server.h"
#include "model/proto_values.h"

namespace shardmanager::router {
namespace {

// Far above what one app may have; bounds what a wrong index can make us allocate.
constexpr uint32_t kMostServers = 1u << 20;

}  // namespace

absl::Status MapHolder::Apply(const WholeMap& whole) {
  if (absl::Status status = CheckNewer(whole.version()); !status.ok()) return status;
  auto next = std::make_shared<ShardMap>();
  next->version_ = whole.version();
  std::optional<MapLayout::Builder> layout;
  if (map_ != nullptr && map_->layout().Matches(whole)) {
    next->layout_ = map_->layout_;
  } else {
    layout.emplace(whole.shards());
  }
  auto servers = std::make_shared<Servers>();
  absl::Status taken = whole.ForEachPiece([&](const v1::MapSnapshot& part) {
    if (layout) {
      if (absl::Status status = layout->Add(part); !status.ok()) return status;
    }
    if (absl::Status status = TakeServers(part.servers(), *servers); !status.ok()) return status;
    return TakeShards(part, *servers, *next);
  });
  if (taken.ok() && layout) taken = layout->Finish(&next->layout_);
  if (!taken.ok()) return taken;
  next->servers_ = std::move(servers);
  const std::vector<size_t> uses_before = uses_;  // empty before the first map
  CountAll(*next);
  for (size_t i = 0; i < uses_before.size(); ++i) {
    if (uses_before[i] > 0) abandoned_.insert((*map_->servers_)[i]->endpoint);
  }
  map_ = std::move(next);
  return absl::OkStatus();
}

absl::Status MapHolder::TakeShards(const v1::MapSnapshot& part, const Servers& servers,
                                   ShardMap& next) {
  Replicas replicas;
  for (const v1::MapShard& shard : part.shards()) {
    replicas.clear();
    if (absl::Status status = TakeReplicas(shard, servers, replicas); !status.ok()) return status;
    const size_t at = shard.index() % ShardMap::kBlockShards;
    if (at == 0) next.blocks_.push_back(std::make_shared<ShardMap::Block>());
    // Nobody shares it yet.
    Append(replicas, at, *std::const_pointer_cast<ShardMap::Block>(next.blocks_.back()));
  }
  return absl::OkStatus();
}

absl::Status MapHolder::Apply(const v1::MapDelta& delta) {
  if (absl::Status status = CheckNewer(MapVersion::From(delta.version())); !status.ok()) {
    return status;
  }
  if (map_ == nullptr || map_->version() != MapVersion::From(delta.from())) {
    return absl::FailedPreconditionError(absl::StrCat("a delta from ",
                                                      MapVersion::From(delta.from()).ToString(),
                                                      ", which is not the version held"));
  }
  auto next = std::make_shared<ShardMap>(*map_);
  next->version_ = MapVersion::From(delta.version());
  if (delta.servers_size() > 0) {
    auto servers = std::make_shared<Servers>(*map_->servers_);
    if (absl::Status status = TakeServers(delta.servers(), *servers); !status.ok()) return status;
    next->servers_ = std::move(servers);
  }
  std::map<uint32_t, Replicas> lists;
  for (const v1::MapShard& shard : delta.shards()) {
    if (shard.index() >= map_->layout().size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard index ", shard.index(), " in a map of ", map_->layout().size()));
    }
    Replicas& replicas = lists[shard.index()];
    replicas.clear();
    absl::Status status = TakeReplicas(shard, *next->servers_, replicas);
    if (!status.ok()) return status;
  }
  ReplaceShards(lists, *next);
  Recount(lists);
  Abandon(*map_->servers_, *next->servers_);
  map_ = std::move(next);
  return absl::OkStatus();
}

absl::Status MapHolder::CheckNewer(MapVersion version) const {
  if (map_ == nullptr || version > map_->version()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("version ", version.ToString(),
                                                    " is not above ", map_->version().ToString(),
                                                    ", the one held"));
}

absl::Status MapHolder::TakeServers(const google::protobuf::RepeatedPtrField<v1::MapServer>& from,
                                    Servers& servers) const {
  for (const v1::MapServer& server : from) {
    if (server.index() >= kMostServers) {
      return absl::InvalidArgumentError(
          absl::StrCat("server index ", server.index(), "; allowed: below ", kMostServers));
    }
    if (server.index() >= servers.size()) servers.resize(server.index() + 1);
    if (IsGone(server)) {
      servers[server.index()].reset();
      continue;
    }
    servers[server.index()] = Mapped(server);
  }
  return absl::OkStatus();
}

std::shared_ptr<const MappedServer> MapHolder::Mapped(const v1::MapServer& server) const {
  const v1::FaultDomain& domain = server.fault_domain();
  auto mapped = std::make_shared<MappedServer>(
      MappedServer{.name = server.name(),
                   .endpoint = server.endpoint(),
                   .fault_domain = {domain.region(), domain.datacenter(), domain.rack()}});
  const bool has_one = map_ != nullptr && server.index() < map_->servers_->size();
  const MappedServer* before = has_one ? (*map_->servers_)[server.index()].get() : nullptr;
  const bool is_known = before != nullptr && SameServer(*before, *mapped);
  mapped->health = is_known ? before->health : std::make_shared<ServerHealth>();
  return mapped;
}

absl::Status MapHolder::TakeReplicas(const v1::MapShard& shard, const Servers& servers,
                                     Replicas& replicas) {
  if (static_cast<size_t>(shard.replicas_size()) > ShardMap::kMostReplicas) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard ", shard.index(), " has ", shard.replicas_size(), " replicas"));
  }
  for (const v1::MapReplica& replica : shard.replicas()) {
    if (replica.server() >= servers.size() || servers[replica.server()] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("shard ", shard.index(), " is on server ",
                                                     replica.server(), ", which is not listed"));
    }
    replicas.push_back(
        {ServerIndex(replica.server()), FromProto(replica.role()), replica.behind_primary()});
  }
  return absl::OkStatus();
}

// All shards of a block come, in ascending order.
void MapHolder::Append(const Replicas& replicas, size_t at, ShardMap::Block& block) {
  block.replicas.insert(block.replicas.end(), replicas.begin(), replicas.end());
  block.begins[at + 1] = static_cast<uint16_t>(block.replicas.size());
}

void MapHolder::ReplaceShards(const std::map<uint32_t, Replicas>& lists, ShardMap& next) {
  auto list = lists.begin();
  while (list != lists.end()) {
    const size_t index = list->first / ShardMap::kBlockShards;
    const size_t begin = index * ShardMap::kBlockShards;
    const size_t end = std::min(begin + ShardMap::kBlockShards, next.layout_->size());
    auto block = std::make_shared<ShardMap::Block>();
    for (size_t shard = begin; shard < end; ++shard) {
      if (list != lists.end() && list->first == shard) {
        Append(list->second, shard - begin, *block);
        ++list;
      } else {
        const auto kept = map_->replicas(ShardIndex(shard));
        Append(Replicas(kept.begin(), kept.end()), shard - begin, *block);
      }
    }
    next.blocks_[index] = std::move(block);
  }
}

// For the lists that replace those of map_.
void MapHolder::Recount(const std::map<uint32_t, Replicas>& lists) {
  for (const auto& [shard, replicas] : lists) {
    const auto before = map_->replicas(ShardIndex(shard));
    for (const MappedReplica& replica : before) --uses_[replica.server().index()];
    for (const MappedReplica& replica : replicas) {
      if (replica.server().index() >= uses_.size()) uses_.resize(replica.server().index() + 1);
      ++uses_[replica.server().index()];
    }
    unserved_ -= before.empty() ? 1 : 0;
    unserved_ += replicas.empty() ? 1 : 0;
    // Whether they are abandoned is seen when all is counted.
    for (const MappedReplica& replica : before)
      abandoned_.insert(map_->server(replica.server()).endpoint);
  }
}

void MapHolder::CountAll(const ShardMap& map) {
  uses_.assign(map.servers_->size(), 0);
  unserved_ = 0;
  for (size_t shard = 0; shard < map.layout().size(); ++shard) {
    const auto replicas = map.replicas(ShardIndex(shard));
    if (replicas.empty()) ++unserved_;
    for (const MappedReplica& replica : replicas) ++uses_[replica.server().index()];
  }
}

void MapHolder::Abandon(const Servers& before, const Servers& after) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i] && before[i] != nullptr) abandoned_.insert(before[i]->endpoint);
  }
}

ShardIndex MapHolder::FirstUnserved() const {
  for (size_t shard = 0; map_ != nullptr && shard < map_->layout().size(); ++shard) {
    if (map_->replicas(ShardIndex(shard)).empty()) return ShardIndex(shard);
  }
  return ShardIndex();
}

std::vector<std::string> MapHolder::TakeAbandonedEndpoints() {
  if (abandoned_.empty()) return {};
  for (size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i] > 0) abandoned_.erase((*map_->servers_)[i]->endpoint);
  }
  std::vector<std::string> endpoints(abandoned_.begin(), abandoned_.end());
  abandoned_.clear();
  return endpoints;
}

}  // namespace shardmanager::router
