// A simulated cell that is small enough to be followed by hand.
#pragma once

#include "absl/strings/str_cat.h"
#include "tests/simulation/cell/cluster.h"

namespace shardmanager::simulation {

// Three servers in one region.
inline ClusterOptions SmallCluster(int controls, int clients, Duration session_timeout,
                                   uint32_t buckets = 4) {
  ClusterOptions options{.servers = 3, .regions = 1, .controls = controls, .clients = clients};
  options.cell.set_cell(kCell);
  options.cell.set_zookeeper_tick_ms(200);
  options.cell.set_session_timeout_ms(static_cast<uint32_t>(session_timeout / Milliseconds(1)));
  options.cell.set_buckets(buckets);
  return options;
}

// An app of twelve shards, each with a primary and nothing else.
inline v1::AppSpec PrimariesOnly() {
  v1::AppSpec spec;
  spec.set_name(kApp);
  for (int i = 0; i < 12; ++i)
    spec.mutable_key_space()->add_shards()->set_id(absl::StrCat("s-", i));
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  spec.mutable_replication()->set_replicas(1);
  return spec;
}

// Everything that happens within `time`.
inline void RunFor(Duration time, Cluster& cluster) {
  const TimePoint end = cluster.schedule.now() + time;
  while (cluster.schedule.RunNext(end)) cluster.store.Kick();
}

}  // namespace shardmanager::simulation
