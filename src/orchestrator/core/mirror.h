// Of an app whose own orchestrator decides where replicas are: the tables follow the maps that it
// supplies (TaskControl.SupplyMap). What the tables say is then the ground for what the task
// controller approves and for what a maintenance hits, as of any app; but nothing is placed,
// commanded, written or published, and what has to leave a server is asked of the application
// (describe/requests.h).
//
// Nothing of it is stored: a new leader approves nothing before it has been told.
#pragma once

#include <optional>
#include <vector>

#include "model/layout.h"
#include "model/supplied_map.h"
#include "orchestrator/core/agenda.h"
#include "orchestrator/core/drains.h"
#include "orchestrator/core/fleet.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Mirror {
 public:
  Mirror(PartitionState& state, Agenda& agenda, Drains& drains, Fleet& fleet)
      : state_(state), agenda_(agenda), drains_(drains), fleet_(fleet) {}

  // From now on a map is waited for.
  void Begin();
  // False: a newer one was taken before, or there is nothing to mirror. Notes when it came.
  bool Take(const SuppliedMap& map);
  // The shards in it, ascending by name; nothing: the same as before.
  std::optional<std::vector<LayoutShard>> NewLayout(const SuppliedMap& map);
  // REQUIRES: the layout is the map's.
  void Adopt(const SuppliedMap& map);
  // The app is being deleted: nothing is mirrored any more.
  void Clear();
  // TimerKind::kMapAge
  void LookAtAge();

 private:
  void AdoptServer(ServerIndex id, const SuppliedServer& supplied);
  void AdoptReplicas(ServerIndex id, const SuppliedServer& supplied);
  void Forget(ServerIndex id);
  void RemoveReplicas(ServerIndex id);

  PartitionState& state_;
  Agenda& agenda_;
  Drains& drains_;
  Fleet& fleet_;
};

}  // namespace shardmanager::orchestrator
