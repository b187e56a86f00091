// Which event it is, in the cell: EventPosition of admin.proto, as a value.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::history {

struct Position {
  uint64_t epoch = 0;  // of the leader
  uint64_t sequence = 0;

  auto operator<=>(const Position&) const = default;
  // Example: "epoch 12, event 345".
  std::string ToString() const { return absl::StrCat("epoch ", epoch, ", event ", sequence); }
};

inline Position ToPosition(const v1::EventPosition& position) {
  return {position.leader_epoch(), position.sequence()};
}
// Of the last event that is folded into this one.
inline Position LastPosition(const v1::ControlEvent& event) {
  return {event.position().leader_epoch(),
          std::max(event.position().sequence(), event.last_sequence())};
}
inline v1::EventPosition ToProto(Position position) {
  v1::EventPosition proto;
  proto.set_leader_epoch(position.epoch);
  proto.set_sequence(position.sequence);
  return proto;
}

}  // namespace shardmanager::history
