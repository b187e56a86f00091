// Splits and merges of shards (decide/keys/replacements.h): which shards are in the map, and what
// is done so that they can be replaced.
#pragma once

#include <vector>

#include "model/layout.h"
#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Replacer {
 public:
  Replacer(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // What is ordered now, and the spec to which it belongs. `recovered`: what a new leader has read,
  // and the tables do not have yet.
  void Adopt(const std::vector<v1::Reshape>& reshapes, const v1::AppSpec& spec,
             const std::vector<StoredServer>& recovered = {});
  // Of the spec: but what is to be replaced, as long as it is there, and not what takes its place.
  std::vector<LayoutShard> LayoutNow() const;
  // After the layout is adopted: the tables show what is to be replaced.
  void Mark();
  // In each pass, before shards are looked at. True: shards have been replaced, the layout is
  // another one.
  bool Look();

 private:
  bool IsHeld(const Replacement& r) const;
  void Finish(Replacement& r);
  void BringTogether(const Replacement& r);
  void LetLeave(const Replacement& r);
  void MoveNext(const Replacement& r, ShardIndex id);

  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
