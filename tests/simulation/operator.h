// A person at the command line: changes the spec, drains servers, and gives notice of maintenances,
// now and then, one change at a time, and remembers what was acknowledged.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/cell/cluster.h"
#include "tests/simulation/checkers.h"

namespace shardmanager::simulation {

class Operator {
 public:
  Operator(Cluster& cluster, Checkers& checkers, v1::AppSpec spec);

  // Tries the process that leads, for as long as it takes.
  void ApplyUntilAcknowledged();
  // The same: primaries move by handovers from now on.
  void AdoptHandoversUntilAcknowledged();
  // The same: drains the server, or takes that back.
  void DrainUntilAcknowledged(const std::string& server, bool drain);
  // The same: pauses the app, or resumes it.
  void PauseUntilAcknowledged();
  void ResumeUntilAcknowledged();
  // The same: pins the shard, or takes that back.
  void PinUntilAcknowledged(const std::string& shard);
  void UnpinUntilAcknowledged(const std::string& shard);
  // The same: those shards are wanted in that region, and all others where the spec says.
  void PreferUntilAcknowledged(const std::vector<std::string>& shards, const std::string& region);
  // The same: gives notice of a maintenance.
  void NotifyUntilAcknowledged(const v1::Maintenance& notice);
  // The store is lost: makes the cell anew, and applies the spec once more.
  void MakeCellAnew();
  // Makes some change; tries it once. Does nothing while another change is under way.
  void ChangeSomething();
  // A drain of some server, or its end; unless a change is under way. Two free servers are left.
  void DrainSomething();
  // The same, of that server.
  void DrainIfFree(const std::string& server);
  // Notice of a maintenance of some server or region, or that it does not take place; unless a
  // change is under way. It is over after 30 s.
  void NotifySomething();
  // By hand: says of some shard that what made it fail is mended, or of some server that it is
  // well, true or not; or moves some shard to some server.
  void PullSomeLever();
  // Servers that could hold a shard and are to: neither gone, nor sick, nor drained.
  std::set<std::string> Free() const;

  const v1::AppSpec& wanted() const { return spec_; }
  bool busy() const { return busy_; }
  uint32_t acknowledged_changes() const { return acknowledged_changes_; }

 private:
  using Answer = std::function<void(bool ok)>;
  // Asks a process of the control plane for the change.
  using Send = std::function<void(orchestrator::Operations& operations, const Answer& answer)>;

  void Begin(Send send, bool again);
  void BeginSpec(bool again);
  void BeginDrain(const std::string& server, bool drain, bool again);
  void Try(bool again);
  void SendSpec(orchestrator::Operations& operations, const Answer& answer);
  void SendDrain(orchestrator::Operations& operations, const std::string& server, bool drain,
                 const Answer& answer);
  void OnReply(uint64_t attempt, bool again, bool ok);

  Cluster& cluster_;
  Checkers& checkers_;
  v1::AppSpec spec_;
  uint32_t revision_ = 1;
  Send send_;
  uint64_t attempt_ = 0;
  size_t next_control_ = 0;
  bool busy_ = false;
  uint32_t acknowledged_changes_ = 0;
};

}  // namespace shardmanager::simulation
