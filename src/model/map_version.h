// Orders published shard maps (v1::MapVersion as a value).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <tuple>

#include "base/defect.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

// A later leader's maps are newer than any of an earlier leader, whatever the sequence;
// those of a cell that was made anew are newer than any of the earlier one.
struct MapVersion {
  uint64_t leader_epoch = 0;
  uint64_t sequence = 0;
  int64_t cell_made_ms = 0;

  static MapVersion From(const v1::MapVersion& proto) {
    return {proto.leader_epoch(), proto.sequence(), proto.cell_made_ms()};
  }
  v1::MapVersion ToProto() const {
    v1::MapVersion proto;
    proto.set_leader_epoch(leader_epoch);
    proto.set_sequence(sequence);
    proto.set_cell_made_ms(cell_made_ms);
    return proto;
  }
  // Example: "12.345", of the cell made at 1764000000000: "12.345@1764000000000".
  std::string ToString() const {
    std::string text = std::to_string(leader_epoch) + "." + std::to_string(sequence);
    return cell_made_ms == 0 ? text : text + "@" + std::to_string(cell_made_ms);
  }

  friend bool operator==(const MapVersion&, const MapVersion&) = default;
  friend std::strong_ordering operator<=>(const MapVersion& a, const MapVersion& b) {
    if (Planted(Defect::kClingsToTheOldCell)) {
      return std::tie(a.leader_epoch, a.sequence) <=> std::tie(b.leader_epoch, b.sequence);
    }
    return std::tie(a.cell_made_ms, a.leader_epoch, a.sequence) <=>
           std::tie(b.cell_made_ms, b.leader_epoch, b.sequence);
  }
};

}  // namespace shardmanager
