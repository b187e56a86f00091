// The control plane of a test: what the test orders, each step durable before it is commanded. It
// decides nothing. The steps are those of the orchestrator: both go by the table of transitions
// (model/replica_phase.h), which refuses any other, and by what a phase demands of its server
// (model/command_kind.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/replica_phase.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"
#include "testing/commands.h"
#include "testing/memory_cell.h"

namespace shardmanager::testing_internal {

// Thread-safe. Errors as in TestCell.
class Script {
 public:
  Script(MemoryCell& cell, Commands& commands) : cell_(cell), commands_(commands) {}

  absl::Status Assign(const ShardId& shard, const ServerName& server, Role role);
  absl::Status Regrant(const ShardId& shard, const ServerName& server);
  absl::Status Move(const ShardId& shard, const ServerName& to);
  absl::Status Drop(const ShardId& shard, const ServerName& server);
  absl::Status Promote(const ShardId& shard, const ServerName& server);
  absl::Status Demote(const ShardId& shard, const ServerName& server);
  absl::Status SetMembers(const ShardId& shard, const std::vector<ServerName>& servers);
  // A primary and secondaries.
  bool HasBothRoles(const ShardId& shard);
  // Commands all that the server is granted, once more, and to drop what it lost meanwhile.
  absl::Status RepeatAll(const ServerName& server);

  // NOT_FOUND: it has no live session.
  absl::StatusOr<CommandTarget> Live(const ServerName& server);

 private:
  struct Replica {
    Role role = Role::kPrimary;
    ShardEpoch epoch;
    Phase phase = Phase::kGranted;
  };
  // A shard's two ends in a handover.
  struct Ends {
    ShardId shard;
    ServerName from;
    ServerName to;
  };
  using Order = std::function<absl::Status()>;

  // Runs it, unless another order of the shard is under way.
  absl::Status InTurn(const ShardId& shard, const Order& order);
  absl::Status AssignInTurn(const ShardId& shard, const ServerName& server, Role role);
  absl::Status MoveInTurn(const ShardId& shard, const ServerName& to);
  absl::Status DropInTurn(const ShardId& shard, const ServerName& server);
  absl::Status PromoteInTurn(const ShardId& shard, const ServerName& server);
  absl::Status SetMembersInTurn(const ShardId& shard, const std::vector<ServerName>& servers);
  // It has stopped being the primary; what is stored still says that it is about to.
  absl::Status Step(const ShardId& shard, const ServerName& down, const CommandTarget* next);
  absl::Status Prepare(const Ends& ends);
  absl::Status LetGo(const Ends& ends);
  absl::Status Take(const Ends& ends);
  // What its phase demands of the server. `other`: the other end of a handover, or of a change of
  // the primary; null: there is none.
  absl::Status Command(const ShardId& shard, const ServerName& server,
                       const CommandTarget* other = nullptr);
  absl::Status Command(const ShardId& shard, const Replica& replica, const ServerName& server,
                       const CommandTarget* other = nullptr);

  // ---- what is stored
  using Changes = std::map<ServerName, std::optional<Replica>>;  // nothing: removed
  absl::Status Write(const ShardId& shard, const Changes& changes);
  std::optional<Replica> Get(const ShardId& shard, const ServerName& server);
  // The primary's servers, of which a handover has two.
  std::vector<ServerName> PrimariesOf(const ShardId& shard);
  void Lose(const ShardId& shard, const ServerName& server);
  ShardEpoch NextEpoch();
  v1::ShardGrant ToGrant(const ShardId& shard, const Replica& replica);

  MemoryCell& cell_;
  Commands& commands_;
  std::mutex mutex_;
  std::map<ServerName, std::map<ShardId, Replica>> assigned_;
  // What failed over from a server: it may not know yet.
  std::map<ServerName, std::map<ShardId, Replica>> lost_;
  std::set<ShardId> busy_;
  uint64_t last_epoch_ = 0;
  std::map<ShardId, v1::ShardMembers> members_;
};

}  // namespace shardmanager::testing_internal
