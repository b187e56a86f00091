// Makes the memory store go: each request is applied, and each answer delivered, a
// random while after it could be, in the order of its session.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "coordination/access/store_access.h"
#include "coordination/memory/memory_ensemble.h"
#include "tests/simulation/cell/network.h"
#include "tests/simulation/cell/process.h"

namespace shardmanager::simulation {

inline const std::string kStoreHost = "store";

class StorePump {
 public:
  StorePump(Schedule& schedule, Network& network, Random& random)
      : schedule_(schedule), network_(network), random_(random) {}

  // Processes that are made from here on have the ZooKeeper credentials of what they are.
  void SetSecure(bool secure) { secure_ = secure; }
  // The sessions of one process, which is `server` of an app; empty: of the control plane.
  std::unique_ptr<CoordinationStoreFactory> FactoryFor(std::shared_ptr<Process> process,
                                                       const ServerName& server = {},
                                                       const AppName& app = {});
  // Where that life of a server has its live node.
  std::string LiveNode(const AppName& app, const ServerName& server, Incarnation incarnation,
                       uint32_t buckets) const;

  // After anything happened: sees to it that what can go on does. Cheap.
  void Kick();
  // Brings the sessions' connections in line with the network and the pauses.
  void LookAtLinks();

  // The process is about to be killed: of what it has sent, the store gets the first
  // few requests only, and its sessions end by their time-out.
  void Abandon(const Process& process);

  // ---- faults ----
  void ExpireOneOf(const std::string& host);
  void LoseAnswerOf(const std::string& host);
  // Its connection breaks, and it comes back to a server of the store that lags.
  void ComeBackToLag(const std::string& host);
  // The server of the store that the process talks to lost its leader: it answers reads
  // from what it knew, while the store hears nothing of the sessions.
  void Strand(const std::string& host, bool stranded);
  // That server was the others' leader, and does not know that it is deposed: it answers syncs,
  // too.
  void Depose(const std::string& host, bool deposed);
  // Each request and each answer of the host takes up to so long; 0: as for all.
  void SetSlow(const std::string& host, Duration most) { slow_[host] = most; }
  void StopStore();
  void Empty();
  void StartStore();
  bool store_up() const { return up_; }
  // Since when the process cannot reach the store; nothing: it can, or its answers may still come.
  std::optional<TimePoint> CutOffSince(const Process& process) const;
  // How often it has stopped, or started again.
  uint32_t changes() const { return changes_; }
  // Most that the store may lag behind in hearing of sessions (half a tick).
  void SetTouchLag(Duration most) { touch_lag_ = most; }

  const MemoryTree& tree() const { return ensemble_.tree(); }
  MemoryEnsemble& ensemble() { return ensemble_; }

 private:
  class Factory;
  struct Session {
    std::shared_ptr<Process> process;
    bool applying = false;
    bool delivering = false;
    bool cut = false;
  };

  std::unique_ptr<CoordinationStore> NewSession(const std::shared_ptr<Process>& process,
                                                SessionOptions options);
  bool Linked(const Process& process) const;
  void NoteReach();
  void DrawTouchLag();
  void Cut(SessionNumber number);
  Duration Delay(const Process& process);
  void LagNext(SessionNumber number);
  void MendBroken();
  // Brings the store to the present, and forgets the sessions that are over.
  void CatchUp();

  Schedule& schedule_;
  Network& network_;
  Random& random_;
  // As of a ZooKeeper with the shortest tick of a seed, 100 ms.
  MemoryEnsemble ensemble_{{.min_session_timeout = std::chrono::milliseconds(200)}};
  std::map<SessionNumber, Session> sessions_;
  std::set<SessionNumber> breaking_;          // to be connected again once they are broken
  std::map<std::string, Duration> slow_;      // by host
  std::map<std::string, TimePoint> cut_off_;  // hosts that cannot reach the store, since when
  Duration touch_lag_{};
  bool secure_ = false;
  bool up_ = true;
  uint32_t changes_ = 0;
};

}  // namespace shardmanager::simulation
