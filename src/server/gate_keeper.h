// Opens and closes the gates of admission as the ShardBook asks.
#pragma once

#include <functional>
#include <utility>

#include "server/admission_table.h"
#include "server/shards/shard_events.h"

namespace shardmanager::server {

class GateKeeper {
 public:
  // `drained` is called only under Defect::kDropWithoutDraining: a shard is reported as drained as
  // soon as it is closed, although requests may be in flight.
  GateKeeper(AdmissionTable& gates, std::function<void(const ShardId&)> drained)
      : gates_(gates), drained_(std::move(drained)) {}

  void Do(const OpenShard& action);
  void Do(const ShowLoading& action) { gates_.ShowLoading(action.shard); }
  void Do(const CloseShard& action);
  void Do(const PauseShard& action);
  void Do(const HoldShard& action);
  void Do(const AwaitForwarded& action);
  void Do(const OpenForwarded& action);
  void Do(const ForwardShard& action);

 private:
  void ReportDrainedIfPlanted(const ShardId& shard);

  AdmissionTable& gates_;
  const std::function<void(const ShardId&)> drained_;
};

template <typename Action>
inline constexpr bool IsForGates = requires(GateKeeper& keeper, const Action& action) {
  keeper.Do(action);
};

}  // namespace shardmanager::server
