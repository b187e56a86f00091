// A method of the application's ShardHandler that is to be called, and how it ended.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "model/command_kind.h"
#include "server/grant.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

// Named by the command that leads to it: kAdd is AddShard, kSetMembers is UpdateMembership, and so
// on. Calls for one shard never overlap.
struct HandlerCall {
  CommandKind method = CommandKind::kAdd;
  Grant grant;               // that is added, changed or dropped; kSetMembers: with the new members
  bool prepared = false;     // kAdd: PrepareAddShard came before it
  bool adds_member = false;  // kSetMembers: the list has a member that the last one did not have
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
