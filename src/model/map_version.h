// Orders published shard maps (v1::MapVersion as a value).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

// A later leader's maps are newer than any of an earlier leader, whatever the
// sequence.
struct MapVersion {
  uint64_t leader_epoch = 0;
  uint64_t sequence = 0;

  static MapVersion From(const v1::MapVersion& proto) {
    return {proto.leader_epoch(), proto.sequence()};
  }
  v1::MapVersion ToProto() const {
    v1::MapVersion proto;
    proto.set_leader_epoch(leader_epoch);
    proto.set_sequence(sequence);
    return proto;
  }
  // Example: "12.345".
  std::string ToString() const {
    return std::to_string(leader_epoch) + "." + std::to_string(sequence);
  }

  friend auto operator<=>(const MapVersion&, const MapVersion&) = default;
};

}  // namespace shardmanager
