// A person at the command line: changes the spec now and then, one change at a time,
// and remembers what was acknowledged.
#pragma once

#include <memory>

#include "tests/simulation/checkers.h"
#include "tests/simulation/cluster.h"

namespace shardmanager::simulation {

class Operator {
 public:
  Operator(Cluster& cluster, Checkers& checkers, v1::AppSpec spec);

  // Tries the process that leads, for as long as it takes.
  void ApplyUntilAcknowledged();
  // Makes some change; tries it once. Does nothing while another change is under way.
  void ChangeSomething();

  const v1::AppSpec& wanted() const { return spec_; }
  uint32_t acknowledged_changes() const { return acknowledged_changes_; }

 private:
  void Try(bool again);
  void OnReply(uint64_t attempt, uint32_t revision, bool again, bool ok);

  Cluster& cluster_;
  Checkers& checkers_;
  v1::AppSpec spec_;
  uint32_t revision_ = 1;
  uint64_t attempt_ = 0;
  size_t next_control_ = 0;
  bool busy_ = false;
  uint32_t acknowledged_changes_ = 0;
};

}  // namespace shardmanager::simulation
