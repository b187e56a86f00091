// The durable life of a replica, as a table.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shardmanager {

// All but the first are stored (stored.proto, Phase).
enum class Phase : uint8_t {
  kAbsent,      // no record: before the first write and after the last
  kReserved,    // chosen, no right to serve: the old primary must stop first
  kGranted,     // may serve with its epoch, after loading
  kDropping,    // must not serve; the drop is being confirmed
  kPreparing,   // new owner of a handover: processes only what the old one forwards
  kForwarding,  // old owner of a handover: lets go, then forwards to the new one
  kDemoting,    // the primary, which is to go on as a secondary
};

constexpr std::string_view ToString(Phase phase) {
  constexpr std::array<std::string_view, 7> kNames = {
      "absent", "reserved", "granted", "dropping", "preparing", "forwarding", "demoting"};
  return kNames[static_cast<size_t>(phase)];
}

// What must be true when the write that makes the transition is sent.
enum class Proof : uint8_t {
  kNone,
  // No other replica of the shard processes as primary once this write is durable: it
  // has no right to, or it has confirmed that it stopped. (Always true of a secondary.)
  kNoOtherPrimary,
  // The server has confirmed the drop (or that it is no primary any more), or is lost and
  // the write checks that it has not registered again.
  kStopped,
  // The server has answered that it lets nothing go and serves on under this grant, and nobody
  // else may process anything but what this server forwards.
  kServesOn,
};

// What a transition does to the replica's role.
enum class RoleChange : uint8_t { kNone, kPromote, kDemote };

struct PhaseTransition {
  Phase from;
  Phase to;
  Proof proof;
  std::string_view when;
  RoleChange role_change = RoleChange::kNone;
};

inline constexpr std::array kPhaseTransitions = {
    PhaseTransition{Phase::kAbsent, Phase::kReserved, Proof::kNone, "a primary is to move here"},
    PhaseTransition{Phase::kAbsent, Phase::kGranted, Proof::kNoOtherPrimary,
                    "first placement, failover, or a secondary move"},
    PhaseTransition{Phase::kReserved, Phase::kGranted, Proof::kNoOtherPrimary,
                    "the old primary has stopped"},
    PhaseTransition{Phase::kReserved, Phase::kAbsent, Proof::kNone, "the move was called off"},
    PhaseTransition{Phase::kGranted, Phase::kDropping, Proof::kNone, "move away, or surplus"},
    PhaseTransition{Phase::kGranted, Phase::kAbsent, Proof::kStopped, "the server is lost"},
    PhaseTransition{Phase::kDropping, Phase::kAbsent, Proof::kStopped, "the drop is confirmed"},
    // Handover, in its order; then the ways off it.
    PhaseTransition{Phase::kAbsent, Phase::kPreparing, Proof::kNone,
                    "a primary is to be handed over to here"},
    PhaseTransition{Phase::kGranted, Phase::kForwarding, Proof::kNone, "the new owner is prepared"},
    PhaseTransition{Phase::kPreparing, Phase::kGranted, Proof::kNoOtherPrimary,
                    "the old owner forwards, or is lost"},
    PhaseTransition{Phase::kForwarding, Phase::kDropping, Proof::kNone,
                    "the new owner is granted, or lost"},
    PhaseTransition{Phase::kPreparing, Phase::kDropping, Proof::kNone,
                    "the handover is called off"},
    PhaseTransition{Phase::kPreparing, Phase::kAbsent, Proof::kStopped, "the server is lost"},
    PhaseTransition{Phase::kForwarding, Phase::kAbsent, Proof::kStopped, "the server is lost"},
    PhaseTransition{Phase::kForwarding, Phase::kGranted, Proof::kServesOn,
                    "requests in flight take too long: the handover is called off"},
    PhaseTransition{Phase::kDropping, Phase::kGranted, Proof::kServesOn,
                    "requests in flight take too long: the move is called off"},
    // Changes of role.
    PhaseTransition{Phase::kGranted, Phase::kGranted, Proof::kNoOtherPrimary,
                    "there is no primary any more", RoleChange::kPromote},
    PhaseTransition{Phase::kGranted, Phase::kDemoting, Proof::kNone,
                    "another server is to be the primary"},
    PhaseTransition{Phase::kDemoting, Phase::kGranted, Proof::kStopped,
                    "it is a secondary, or the server is lost", RoleChange::kDemote},
    PhaseTransition{Phase::kDemoting, Phase::kGranted, Proof::kNoOtherPrimary,
                    "the change is called off"},
    PhaseTransition{Phase::kGranted, Phase::kGranted, Proof::kStopped,
                    "the server of the primary is lost", RoleChange::kDemote},
    PhaseTransition{Phase::kDemoting, Phase::kDropping, Proof::kNone, "the shard is to go"},
    PhaseTransition{Phase::kDemoting, Phase::kAbsent, Proof::kStopped, "the server is lost"},
};
static_assert(kPhaseTransitions.size() == 23,
              "say in docs/invariants.md what a new row must prove");

// Null: the transition does not exist.
constexpr const PhaseTransition* FindTransition(Phase from, Phase to,
                                                RoleChange role_change = RoleChange::kNone) {
  for (const PhaseTransition& t : kPhaseTransitions) {
    if (t.from == from && t.to == to && t.role_change == role_change) return &t;
  }
  return nullptr;
}

}  // namespace shardmanager
