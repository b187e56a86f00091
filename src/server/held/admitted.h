// What the table of admission answers to a request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"
#include "server/handover.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

class AdmissionSlot;
class HeldLine;

struct Admitted {
  AdmissionSlot* slot = nullptr;  // null: refused
  ShardEpoch epoch;
  Role role = Role::kPrimary;
  const char* refusal = nullptr;  // a word of model/request_metadata.h
  // Refused now, but worth to wait for a turn in the HeldQueue, and to ask again.
  HeldLine* held_at = nullptr;
  uint64_t held_since = 0;
  // With held_at: it waits for the lease, which lapsed then. Without: for the shard.
  std::optional<TimePoint> lapsed_at = std::nullopt;
  // Not admitted: to be sent on to this one.
  std::unique_ptr<Successor> forward_to = nullptr;
};

}  // namespace shardmanager::server
