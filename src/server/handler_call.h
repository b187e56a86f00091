// A method of the application's ShardHandler that is to be called, and how it ended.
#pragma once

#include "absl/status/status.h"
#include "model/command_kind.h"
#include "server/grant.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

// Named by the command that leads to it: kAdd is AddShard, kSetMembers is UpdateMembership, and so
// on. Calls for one shard never overlap.
struct HandlerCall {
  CommandKind method = CommandKind::kAdd;
  Grant grant;            // the one that is served or goes; with members of kSetMembers
  bool prepared = false;  // kAdd: PrepareAddShard came before it
  bool brings = false;    // kSetMembers: somebody new; only so many of either kind run at a time
};

struct HandlerDone {
  CommandKind method = CommandKind::kAdd;
  ShardId shard;
  ShardEpoch epoch;  // as the call had it
  absl::Status status;
};

inline HandlerDone DoneOf(const HandlerCall& call, absl::Status status) {
  return {call.method, call.grant.shard, call.grant.epoch, std::move(status)};
}

}  // namespace shardmanager::server
