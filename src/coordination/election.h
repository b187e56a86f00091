// Who leads a cell. One candidate per session.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordination/paths.h"
#include "coordination/store.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager {

// To be the first part of each write of a leader: it fails once another one was elected.
inline CheckVersion LeaderFence(const Paths& paths, LeaderEpoch epoch) {
  return {paths.leader_epoch(), static_cast<int32_t>(epoch.value())};
}

// Stands for election until destroyed. A win is one multi that makes the ephemeral
// holder node and bumps the epoch node, whose version is then the leader epoch: every
// write of a leader checks it, so that a deposed one can write nothing more.
//
// Level-triggered: whatever happened, the holder is read again. A lost connection
// alone does not depose: the holder node stands as long as the session. A holder node
// of an earlier session of ours is another's: we wait for it to go.
//
// Thread-safe. Callbacks come on the session's thread, must not block, and may call
// Resign(). None runs any more after Resign() or the destructor has returned.
class LeaderElection {
 public:
  struct Callbacks {
    std::function<void(LeaderEpoch)> on_elected;
    // After on_elected: the holder node is not ours any more.
    std::function<void(std::string why)> on_lost;
    // Who leads, at each change; nothing: nobody does.
    std::function<void(std::optional<v1::LeaderRecord>)> on_observed;
  };

  // `store` must outlive this. If the cell (cell.h) does not exist yet, waits for it.
  LeaderElection(CoordinationStore& store, Paths paths, v1::LeaderRecord self, Callbacks callbacks);
  // Stops; a holder node of ours stays until Resign() or the end of the session.
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  void Start();
  // Gives the lead up and does not stand again. on_lost is not called.
  void Resign();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace shardmanager
