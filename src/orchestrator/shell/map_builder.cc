#include "orchestrator/shell/map_builder.h"

#include "model/proto_values.h"
#include "orchestrator/decide/published.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {

v1::MapVersion MapBuilder::version() const {
  v1::MapVersion version;
  version.set_leader_epoch(leader_epoch_.value());
  version.set_sequence(sequence_);
  version.set_cell_made_ms(cell_made_ms_);
  return version;
}

v1::MapSnapshot MapBuilder::Whole(const PartitionState& state) {
  ++sequence_;
  known_.clear();
  v1::MapSnapshot map;
  *map.mutable_version() = version();
  map.set_cell(cell_);
  map.set_last(true);
  const std::vector<LayoutShard>& layout = state.layout;
  map.mutable_shards()->Reserve(static_cast<int>(layout.size()));
  for (size_t i = 0; i < layout.size(); ++i) {
    v1::MapShard* entry = map.add_shards();
    entry->set_index(static_cast<uint32_t>(i));
    entry->set_id(layout[i].id.value());
    if (layout[i].has_range) {
      v1::KeyRange* range = layout[i].hashed ? entry->mutable_hash_range() : entry->mutable_range();
      range->set_start(layout[i].start);
      range->set_end(layout[i].end);
    }
    Fill(state, state.map_order[i], entry, map.mutable_servers());
  }
  return map;
}

v1::MapDelta MapBuilder::Delta(const PartitionState& state, const std::vector<ShardIndex>& shards) {
  v1::MapDelta delta;
  *delta.mutable_from() = version();
  ++sequence_;
  *delta.mutable_version() = version();
  for (ShardIndex shard : shards) {
    const uint32_t index = state.tables.shard(shard).map_index;
    if (index == Shard::kNotInMap) continue;
    v1::MapShard* entry = delta.add_shards();
    entry->set_index(index);
    Fill(state, shard, entry, delta.mutable_servers());
  }
  return delta;
}

void MapBuilder::Fill(const PartitionState& state, ShardIndex shard, v1::MapShard* entry,
                      google::protobuf::RepeatedPtrField<v1::MapServer>* servers) {
  const Tables& tables = state.tables;
  for (const auto& [id, role] : PublishedReplicas(state, shard)) {
    const Replica& replica = tables.replica(id);
    const Server& server = tables.server(replica.server);
    v1::MapReplica* out = entry->add_replicas();
    out->set_server(replica.server.index());
    out->set_role(ToProto(role));
    out->set_behind_primary(role == Role::kSecondary && state.replication.both_roles());

    auto [known, fresh] = known_.try_emplace(replica.server, server.location.endpoint);
    if (!fresh && known->second == server.location.endpoint) continue;
    known->second = server.location.endpoint;
    v1::MapServer* named = servers->Add();
    named->set_index(replica.server.index());
    named->set_name(tables.name(replica.server));
    named->set_endpoint(server.location.endpoint);
    named->mutable_fault_domain()->set_region(server.location.fault_domain.region);
    named->mutable_fault_domain()->set_datacenter(server.location.fault_domain.datacenter);
    named->mutable_fault_domain()->set_rack(server.location.fault_domain.rack);
  }
}

}  // namespace shardmanager::orchestrator
