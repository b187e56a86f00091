// Who has the custody of a shard's data: what one server knows of its copy, durably, and the
// rules by which the custody goes from server to server. Values and pure functions.
//
//               AddShard of a new shard
//     absent ---------------------------------> owned <----------+
//       |                                        |  |            | verified, and claimed
//       | PrepareAddShard            AddShard <--+  | claimed    |
//       v                            (newer epoch)  v            |
//     receiving <------------------------------- released        |
//       |                the custody comes back     |  ^         |
//       |                                           |  +---------|--- (it stays until the
//       +-------------------------------------------|------------+     grace period is over)
//                                                   +---------------> owned
//                                                     the taker gave up, and said so
//
// Invariants, over all servers' disks:
//  1. At most one copy of a lineage is owned.
//  2. A copy's rows are changed by clients only while it is owned.
//  3. A copy becomes owned only if it is equal to the one that was owned before, and that one
//     is released by then: durably, to this server and this epoch.
// So what is served is what was acknowledged, whatever the control plane believes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/types.h"

namespace shardmanager::transfer {

enum class CopyState : uint8_t { kAbsent, kReceiving, kOwned, kReleased };
std::string_view ToString(CopyState state);

struct ServerAt {
  std::string server;
  std::string endpoint;  // "host:port"
  friend bool operator==(const ServerAt&, const ServerAt&) = default;
};

// How far a copy is.
struct Place {
  bool started = false;   // rows up to `after` are here
  std::string after;      // a key
  bool copied = false;    // all rows are
  uint64_t sequence = 0;  // changes up to this one are in what is here, once all rows are
  friend bool operator==(const Place&, const Place&) = default;
};

struct Custody {
  CopyState state = CopyState::kAbsent;
  ShardEpoch epoch;        // of the grant under which it is received, or is or was owned
  ShardEpoch floor;        // it will never be owned under a lower one
  uint64_t lineage = 0;    // epoch under which the shard was made: tells strangers apart
  Place place;             // receiving, released
  ServerAt other;          // receiving: from whom; released: to whom
  ShardEpoch other_epoch;  // released: to which grant
  bool confirmed = false;  // released: the other one has everything
  int64_t at_ms = 0;       // when this state was reached, since 1970
  bool pruned = false;     // only this record is left of it
  friend bool operator==(const Custody&, const Custody&) = default;
};

// ---- as bytes, for the application's storage ----
std::string Seal(const Custody& custody);
// "" is no trace. DATA_LOSS: these bytes are not a record.
absl::StatusOr<Custody> Unseal(std::string_view bytes);

// ---- the new owner's commands ----
enum class AddStep : uint8_t {
  kServe,    // at once, once `next` is stored
  kReceive,  // first what `from` has
};
struct AddDecision {
  AddStep step = AddStep::kServe;
  Custody next;
  ServerAt from;
};
// Of AddShard. `make_new`: no trace means that the shard is new.
// Errors: ABORTED, a newer epoch was seen; FAILED_PRECONDITION, no trace.
absl::StatusOr<AddDecision> DecideAdd(const Custody& custody, ShardEpoch epoch, bool make_new,
                                      int64_t now_ms);
// Of PrepareAddShard: may it be received? Errors as above.
absl::Status CheckPrepare(const Custody& custody, ShardEpoch epoch);

// ---- what others ask ----
struct Claim {
  ServerAt taker;
  ShardEpoch epoch;
  ShardEpoch given_up;  // the custody was on its way under this epoch, and was given up
};
enum class Verdict : uint8_t { kReleased, kGaveUp, kServing, kStale, kElsewhere, kUnknown };
struct ClaimAnswer {
  Verdict verdict = Verdict::kUnknown;
  std::optional<Custody> next;  // to be stored before the answer is given
  ServerAt other;               // elsewhere: who; gave up: from whom it was to come
  ShardEpoch other_epoch;
};
// `open`: the shard is being served here, or about to be. `last`: its last change.
ClaimAnswer AnswerClaim(const Custody& custody, bool open, uint64_t last, const Claim& claim,
                        int64_t now_ms);
// May `taker` read this copy? Errors: FAILED_PRECONDITION, ABORTED.
absl::Status CheckReader(const Custody& custody, const ServerAt& taker, ShardEpoch epoch);
// May what is received under `epoch` be stored? ABORTED: somebody was told that it never
// would become whole.
absl::Status CheckStore(const Custody& custody, ShardEpoch epoch);
// The taker has everything. Nothing: that changes nothing here.
std::optional<Custody> Confirm(const Custody& custody, const std::string& taker, ShardEpoch epoch);
// What another server's disk has of the shard: its answer to OpenTransfer.
struct CopyThere {
  CopyState state = CopyState::kAbsent;
  uint64_t lineage = 0;
  uint64_t last_sequence = 0;
};
// Has the taker of this released copy everything that is in it, though its confirmation was lost?
// A copy that the taker released before it claimed this one is older: its sequence tells.
bool HasArrived(const Custody& custody, const CopyThere& taker);

// ---- pruning ----
// Nothing: these rows are still needed, or gone already. Else when they may go.
std::optional<int64_t> PruneAt(const Custody& custody, int64_t grace_ms);
Custody Pruned(const Custody& custody);

}  // namespace shardmanager::transfer
