// Small shard maps for the router's tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/map_version.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

struct TestServer {
  std::string name;
  std::string endpoint;
  FaultDomain fault_domain;
};

struct TestShard {
  std::string id;
  std::string start;  // the end is the next one's start
  std::vector<uint32_t> servers;
};

inline void SetReplicas(const std::vector<uint32_t>& servers, v1::Role role, v1::MapShard& shard) {
  for (uint32_t server : servers) {
    v1::MapReplica* replica = shard.add_replicas();
    replica->set_server(server);
    replica->set_role(role);
  }
}

inline v1::MapSnapshot MakeSnapshot(MapVersion version, const std::vector<TestServer>& servers,
                                    const std::vector<TestShard>& shards,
                                    v1::Role role = v1::PRIMARY) {
  v1::MapSnapshot whole;
  *whole.mutable_version() = version.ToProto();
  for (size_t i = 0; i < servers.size(); ++i) {
    v1::MapServer* server = whole.add_servers();
    server->set_index(static_cast<uint32_t>(i));
    server->set_name(servers[i].name);
    server->set_endpoint(servers[i].endpoint);
    server->mutable_fault_domain()->set_region(servers[i].fault_domain.region);
    server->mutable_fault_domain()->set_datacenter(servers[i].fault_domain.datacenter);
    server->mutable_fault_domain()->set_rack(servers[i].fault_domain.rack);
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    v1::MapShard* shard = whole.add_shards();
    shard->set_index(static_cast<uint32_t>(i));
    shard->set_id(shards[i].id);
    shard->mutable_range()->set_start(shards[i].start);
    if (i + 1 < shards.size()) shard->mutable_range()->set_end(shards[i + 1].start);
    SetReplicas(shards[i].servers, role, *shard);
  }
  return whole;
}

inline v1::MapDelta MakeDelta(MapVersion from, MapVersion to, uint32_t shard,
                              const std::vector<uint32_t>& servers, v1::Role role = v1::PRIMARY) {
  v1::MapDelta delta;
  *delta.mutable_from() = from.ToProto();
  *delta.mutable_version() = to.ToProto();
  v1::MapShard* changed = delta.add_shards();
  changed->set_index(shard);
  SetReplicas(servers, role, *changed);
  return delta;
}

}  // namespace shardmanager::router
