// What an application's spec says about container operations.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/leaving_rules.h"
#include "model/spec/availability.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager::taskcontroller {

class Policy {
 public:
  Policy() = default;
  // REQUIRES: valid, with its defaults (model/spec/spec_validation.h).
  explicit Policy(const v1::AppSpec& spec);

  // By the kind and the length of the operation.
  Leaving WhatLeaves(v1::OperationKind kind, Duration expected) const {
    return leaving_.Before(kind, expected);
  }
  // A primary that leaves stays as a secondary: its shard has both roles.
  bool primaries_turn() const { return primaries_turn_; }
  // Of `servers`, how many may be away at a time.
  uint32_t MostServersAway(uint32_t servers) const;
  // Of a shard with so many replicas, how many may be away at a time.
  uint32_t MostReplicasAway(uint32_t replicas) const;
  // An approval is held for so long.
  Duration approval() const { return approval_; }
  // An operation that has waited for so long goes before all younger ones, and keeps its room.
  Duration most_wait() const { return most_wait_; }

 private:
  LeavingRules leaving_;
  bool primaries_turn_ = false;
  bool quorum_ = false;
  CountOrPercent most_servers_;
  uint32_t most_replicas_ = 1;
  uint32_t replicas_ = 1;
  Duration approval_{};
  Duration most_wait_{};
};

}  // namespace shardmanager::taskcontroller
