// What a ShardBook is told, and what it asks for.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "model/command_kind.h"
#include "server/grant.h"
#include "server/handler_call.h"
#include "server/handover.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

enum class ResultState : uint8_t { kLoading, kDone, kFailed, kStale, kCalledOff };
struct ShardResult {
  ShardId shard;
  ShardEpoch epoch;
  ResultState state = ResultState::kDone;
  double progress = 0;
  std::string error;
  ShardEpoch serving_epoch = ShardEpoch();  // with kCalledOff: of its grant
};

// ---- events (and HandlerDone) ----
struct Command {
  CommandKind kind = CommandKind::kAdd;
  ReplyId reply = 0;
  std::string app;
  std::string server;
  Incarnation incarnation;
  LeaderEpoch leader_epoch;
  std::vector<Grant> grants;
  std::string old_owner = {};  // of kPrepareAdd
  // Of kPrepareDrop, and of kChangeRole to secondary: one for each grant.
  std::vector<Successor> successors = {};
  // For logs: what its shards move for, with their names; "": nobody asked for it.
  // Example: "op-4f8a01c2 (users-1, users-2 and 3 more)".
  std::string operations = {};
  // It came while this server, which serves on all the same, cannot prove its right to.
  bool cut_off = false;
};
// This process is that life now; commands for it are obeyed from here on.
struct Registered {
  Incarnation incarnation;
};
// What the stored record grants, read after registration.
struct Assigned {
  std::vector<Grant> grants;
  std::vector<Grant> preparing = {};  // of handovers: to be asked for again
};
// The old owner forwards a request of a shard that is prepared: it has let go.
struct Forwarded {
  ShardId shard;
};
struct Progress {
  ShardId shard;
  ShardEpoch epoch;
  double fraction = 0;
};
// No request of the shard is in flight (may come more than once).
struct Drained {
  ShardId shard;
};
// The process stops: every shard is dropped, none is added any more.
struct Stop {};

// ---- actions (and HandlerCall) ----
// UpdateMembership (kSetMembers) is called while the shard is open; a drain waits until it returns.

// Admit requests of the shard under this grant.
struct OpenShard {
  Grant grant;
  std::optional<Successor> primary = std::nullopt;  // of a secondary that was the primary
};
// Refuse its requests as "loading" until OpenShard. Those that AwaitForwarded holds stay held.
struct ShowLoading {
  ShardId shard;
};
// Admit no more requests; send Drained when none is in flight.
struct CloseShard {
  ShardId shard;
};
// The same, but new requests are held until the shard is opened again, in either role.
struct PauseShard {
  ShardId shard;
};
// The same, but new requests are held, unless they were forwarded.
struct HoldShard {
  ShardId shard;
};
// Hold what the old owner forwards (and send Forwarded); refuse the rest.
struct AwaitForwarded {
  Grant grant;
  std::string old_owner;
};
// Admit what the old owner forwards; refuse the rest.
struct OpenForwarded {
  Grant grant;
  std::string old_owner;
};
// No request is in flight. Send on the requests that are held, and new ones.
struct ForwardShard {
  ShardId shard;
  Successor to;
};
struct Reply {
  ReplyId reply = 0;
  std::vector<ShardResult> results;
  bool last = false;  // nothing more will come for this reply
};
// The whole command is refused.
struct Refuse {
  ReplyId reply = 0;
  absl::Status status;
};
struct Warn {
  std::string text;
};
// After Stop: no shard is held any more.
struct Emptied {};

using ShardEvent =
    std::variant<Command, Registered, Assigned, HandlerDone, Forwarded, Progress, Drained, Stop>;
using ShardAction =
    std::variant<HandlerCall, OpenShard, ShowLoading, CloseShard, PauseShard, HoldShard,
                 AwaitForwarded, OpenForwarded, ForwardShard, Reply, Refuse, Warn, Emptied>;

}  // namespace shardmanager::server
