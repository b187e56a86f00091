// Plain values that the partition keeps about shards and commands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "orchestrator/state/partition_io.h"
#include "orchestrator/state/tables.h"
#include "orchestrator/state/wait.h"

namespace shardmanager::orchestrator {

// What a replica that changes its role, or comes into step, is when that is durable.
struct NextGrant {
  Role role;
  ShardEpoch epoch;
  uint32_t member_life;
  bool serves_on = false;  // it was not demoted, and has the grant again that it had before
};

// ---- what should be written for one shard ----

struct PhaseChange {
  ReplicaIndex replica;
  Phase to;  // may be the phase that it is in, if only `member_life` changes
  RoleChange role_change = RoleChange::kNone;
  std::optional<uint32_t> member_life = std::nullopt;
  // It goes as its server cannot add it; or its move is called off (`to` is kGranted).
  bool failed = false;
  bool overtaken = false;  // it goes as its grant is over for its server
  bool replaced = false;   // other shards take its place here: see decide/keys/replacements.h
};
struct NewReplica {
  ServerIndex server;
  Phase phase;
  Cause cause;
  ServerIndex origin;  // as Replica::origin
  Role role;
  bool follows_loads = false;  // as Replica::follows_loads
  ShardIndex shard = {};       // invalid: the one that is changed
  uint32_t member_life = 0;    // as Replica::member_life; a primary is in step with itself
};
struct Change {
  absl::InlinedVector<PhaseChange, 4> phases;
  absl::InlinedVector<NewReplica, 2> news;
  absl::InlinedVector<Wait, 1> waits;  // why more is not changed now
  bool empty() const { return phases.empty() && news.empty(); }
  bool Awaits(WaitReason reason) const {
    return std::any_of(waits.begin(), waits.end(),
                       [&](const Wait& wait) { return wait.reason == reason; });
  }
};

// Of one command to one server, in a row. Then something else is tried: another server, or
// (of a move, or a change of role) the old state.
inline constexpr uint8_t kMostFailures = 3;

// What a plan wants for one shard; checked again when it is used.
struct MoveBegun {
  TimePoint at{};  // when it was planned
  ServerIndex from;
  std::string operation =
      {};               // what it is part of, as ControlEvent has it; "": nobody asked for it
  bool serves = false;  // the new replica does, and the old one is not gone yet
};

struct Intent {
  ServerIndex from;  // invalid: a missing replica
  ServerIndex to;
  allocator::MoveReason reason;
};

// The last commands to a replica were in vain.
struct Trouble {
  std::string error;  // of the last one
  CommandOutcome outcome = CommandOutcome::kFailed;
  ShardEpoch serving_epoch;  // of the last one
  TimePoint since;           // the first one; the time that the server was away is left out
  TimePoint retry_at;
};

// A command to be sent when all decisions of this pass are made.
struct Outbox {
  ServerIndex server;
  CommandKind kind;
  Grant grant;
  ServerIndex other;  // as in SendCommands
};

// Loads of one report that are out of range.
struct LoadProblem {
  uint64_t count = 0;
  std::string first;
};

}  // namespace shardmanager::orchestrator
