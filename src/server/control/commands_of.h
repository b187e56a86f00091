// What the control plane asks of a server, out of its requests. INVALID_ARGUMENT says what is wrong
// with one.
#pragma once

#include "absl/status/statusor.h"
#include "server/shards/shard_events.h"
#include "shardmanager/server.h"
#include "shardmanager/v1/shard_server.pb.h"

namespace shardmanager::server {

// Its `reply` is for the caller to set.
absl::StatusOr<Command> CommandOf(const v1::AddShardRequest& request);
absl::StatusOr<Command> CommandOf(const v1::DropShardRequest& request);
absl::StatusOr<Command> CommandOf(const v1::ChangeRoleRequest& request);
absl::StatusOr<Command> CommandOf(const v1::PrepareAddShardRequest& request);
absl::StatusOr<Command> CommandOf(const v1::PrepareDropShardRequest& request);
absl::StatusOr<Command> CommandOf(const v1::UpdateMembershipRequest& request);

absl::StatusOr<Reshape> ReshapeOf(const v1::Reshape& reshape);

// Only what the header says.
Command FromHeader(const v1::CommandHeader& header);

}  // namespace shardmanager::server
