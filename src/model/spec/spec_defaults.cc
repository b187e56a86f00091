#include "model/spec/spec_validation.h"

namespace shardmanager {
namespace {

// 0 and "unspecified" mean "the default" in every field below.
template <typename T>
T Or(T value, T default_value) {
  return value == T{} ? default_value : value;
}

// Of what the control plane decides where replicas are by.
void FillPlacement(v1::AppSpec& spec) {
  v1::KeySpace& keys = *spec.mutable_key_space();
  const bool are_numbered = keys.split_points_size() > 0 || keys.hash_shards() > 0;
  if (are_numbered && keys.shard_prefix().empty()) keys.set_shard_prefix("shard-");
  if (keys.hash_shards() > 0) keys.set_hash_keys(true);

  v1::PlacementPolicy& placement = *spec.mutable_placement();
  placement.set_spread(Or(placement.spread(), v1::SERVER));

  v1::FailoverPolicy& failover = *spec.mutable_failover();
  failover.set_on_partition(Or(failover.on_partition(), v1::STOP_PRIMARIES));

  if (failover.has_mass_failure()) {
    v1::MassFailurePolicy& mass = *failover.mutable_mass_failure();
    mass.set_max_concurrent(Or(mass.max_concurrent(), 20u));
    mass.set_patience_ms(Or(mass.patience_ms(), 3'600'000u));
  }

  v1::MoveLimits& moves = *spec.mutable_moves();
  moves.set_max_concurrent(Or(moves.max_concurrent(), 20u));
  moves.set_max_concurrent_per_server(Or(moves.max_concurrent_per_server(), 5u));
  v1::MoveBudget& drain = *moves.mutable_drain();
  drain.set_max_concurrent(Or(drain.max_concurrent(), moves.max_concurrent()));
  drain.set_max_concurrent_per_server(
      Or(drain.max_concurrent_per_server(), moves.max_concurrent_per_server()));
  moves.set_balance_interval_ms(Or(moves.balance_interval_ms(), 10'000u));
  moves.set_collect_interval_ms(Or(moves.collect_interval_ms(), 30'000u));
  moves.set_primary_move(Or(moves.primary_move(), v1::HANDOVER));
  moves.set_steady_after_ms(Or(moves.steady_after_ms(), 60'000u));

  for (v1::Metric& metric : *spec.mutable_metrics()) {
    metric.set_threshold(Or(metric.threshold(), 0.9));
    metric.set_tolerance(Or(metric.tolerance(), 0.1));
  }

  if (spec.placement().has_follow_demand()) {
    v1::DemandPolicy& demand = *spec.mutable_placement()->mutable_follow_demand();
    demand.set_mode(Or(demand.mode(), v1::DemandPolicy::FOLLOW));
    demand.set_after_ms(Or(demand.after_ms(), 300'000u));
  }

  if (spec.has_scaling()) {
    v1::ScalingPolicy& scaling = *spec.mutable_scaling();
    scaling.set_mode(Or(scaling.mode(), v1::ScalingPolicy::SCALE));
    scaling.set_tolerance(Or(scaling.tolerance(), 0.1));
    scaling.set_down_after_ms(Or(scaling.down_after_ms(), 300'000u));
    if (scaling.max_changes_per_minute().empty()) scaling.set_max_changes_per_minute("10%");
  }

  v1::CommandPolicy& commands = *spec.mutable_commands();
  commands.set_timeout_ms(Or(commands.timeout_ms(), 60'000u));
}

}  // namespace

// Which roles leave (`drain`) stays as it is: what is not set there depends on the operation.
v1::AppSpec WithDefaults(v1::AppSpec spec) {
  if (spec.orchestrator() != v1::APPLICATION) FillPlacement(spec);
  v1::Replication& replication = *spec.mutable_replication();
  replication.set_replicas(Or(replication.replicas(), 1u));

  v1::DrainPolicy& leaving = *spec.mutable_drain();
  leaving.set_prepare_ms(Or(leaving.prepare_ms(), 600'000u));

  v1::AvailabilityPolicy& availability = *spec.mutable_availability();
  if (availability.max_unavailable_servers().empty()) {
    availability.set_max_unavailable_servers("10%");
  }
  availability.set_max_unavailable_replicas(Or(availability.max_unavailable_replicas(), 1u));
  availability.set_approval_ms(Or(availability.approval_ms(), 60'000u));
  availability.set_most_wait_ms(Or(availability.most_wait_ms(), 600'000u));
  return spec;
}

}  // namespace shardmanager
