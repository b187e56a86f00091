// What the control plane asks of a server about a shard (shard_server.proto).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/replica_phase.h"

namespace shardmanager {

enum class CommandKind : uint8_t {
  kAdd,          // serve it
  kDrop,         // let it go, and forget it
  kPrepareAdd,   // get ready; serve what the old owner forwards
  kPrepareDrop,  // let it go, and forward what comes to the new owner
  kChangeRole,   // hold it in the other role
  kSetMembers,   // to the primary: who is in step with it
};

constexpr std::string_view ToString(CommandKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"add",          "drop",        "prepare-add",
                                                      "prepare-drop", "change-role", "set-members"};
  return kNames[static_cast<size_t>(kind)];
}

// What a durable phase demands of its server. Nothing: it demands nothing.
constexpr std::optional<CommandKind> DemandOf(Phase phase) {
  switch (phase) {
    case Phase::kGranted:
      return CommandKind::kAdd;
    case Phase::kDropping:
      return CommandKind::kDrop;
    case Phase::kPreparing:
      return CommandKind::kPrepareAdd;
    case Phase::kForwarding:
      return CommandKind::kPrepareDrop;
    case Phase::kDemoting:
      return CommandKind::kChangeRole;
    case Phase::kAbsent:
    case Phase::kReserved:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace shardmanager
