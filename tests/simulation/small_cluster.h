// A simulated cell that is small enough to be followed by hand.
#pragma once

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

}  // namespace shardmanager::simulation
