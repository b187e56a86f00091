// What must hold of container operations, watched from outside: what is stored, and what servers
// really serve, at the instant when a cluster manager is told GO, and when it acts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tests/simulation/cell/sim_manager.h"
#include "tests/simulation/checkers.h"

namespace shardmanager::simulation {

// Operations that are being prepared, are approved or have begun, as they are stored.
v1::StoredOperations OperationsStored(const Cluster& cluster);

class RestartChecker final : public ManagerWitness {
 public:
  RestartChecker(Cluster& cluster, Checkers& checkers, const Managers& managers)
      : cluster_(cluster), checkers_(checkers), managers_(managers) {}

  // The faults are over: the control plane knows at once what is so.
  void ExpectCalm() { calm_ = true; }
  // Shards are looked at during the faults, too.
  void BeStrict() { strict_ = true; }
  void ForgetCell();
  // Several times a second.
  void Look();

  // What is told is stored. With all servers away that may be stopped, no shard has fewer replicas
  // than the policy allows; no primary is stopped that is to leave; the server is in the life that
  // the operation names. What failed just now, the control plane may not know yet.
  void Told(const std::string& leader, const std::string& manager,
            const v1::ContainerOperation& operation, const v1::OperationAnswer& answer) override;
  void Acts(const std::string& manager, const v1::ContainerOperation& operation) override;

  uint64_t acted() const { return acted_; }

 private:
  using Key = std::pair<std::string, std::string>;  // manager, id
  struct Committed {
    std::string server;
    uint64_t life = 0;
    TimePoint since{};
  };

  Duration Lag() const;
  bool Leads(const std::string& process) const;
  bool MayStillAct(const Key& key) const;
  uint64_t LifeOf(const std::string& server) const;
  bool IsLive(const std::string& server, uint64_t life) const;
  void CheckStored(const Key& key, v1::HeldStage least);
  void CheckKept();
  void CheckStop(const v1::ContainerOperation& operation);
  void CheckLife(const v1::ContainerOperation& operation);
  void CheckShards(const v1::ContainerOperation& operation, const v1::AppSpec& spec);
  size_t ServedByOthers(const std::string& shard, const std::set<std::string>& away);
  std::optional<v1::StoredOperation> Stored(const Key& key) const;

  Cluster& cluster_;
  Checkers& checkers_;
  const Managers& managers_;
  bool calm_ = false;
  bool strict_ = false;
  uint64_t acted_ = 0;
  std::set<Key> told_;  // GO, ever
  std::map<Key, Committed> committed_;
  std::map<std::string, std::map<std::string, TimePoint>> served_at_;  // last; by shard, server
  // Since when: by shard, its primary; by server, its life; how many replicas are wanted.
  std::map<std::string, std::pair<std::string, TimePoint>> primary_;
  std::map<std::string, std::pair<uint64_t, TimePoint>> life_;
  std::pair<size_t, TimePoint> wanted_{};
};

// Of a shard of the spec: replicas that may be away at once.
size_t MostAway(const v1::AppSpec& spec);

}  // namespace shardmanager::simulation
