#include "tests/support/kv_spec.h"

#include "absl/strings/str_format.h"

namespace shardmanager::testing {

v1::AppSpec KvSpec(int shards) {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  for (int shard = 1; shard < shards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrFormat("%05d", shard));
  }
  spec.mutable_moves()->set_balance_interval_ms(500);
  spec.mutable_moves()->set_steady_after_ms(1'000);  // servers are killed again and again here
  return spec;
}

v1::AppSpec ReplicatedKvSpec(int shards) {
  v1::AppSpec spec = KvSpec(shards);
  spec.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  spec.mutable_replication()->set_replicas(3);
  spec.mutable_failover()->set_delay_ms(30'000);
  return spec;
}

std::string KeyOf(int shard, int n) { return absl::StrFormat("%05d/%d", shard, n); }

}  // namespace shardmanager::testing
