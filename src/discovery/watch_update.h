// One message of a Discovery.Watch stream, as a subscriber takes it: a part of a map stays bytes.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "base/pages.h"
#include "model/map/snapshot_part.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

struct WatchUpdate {
  // INVALID_ARGUMENT: these bytes are no v1::WatchResponse.
  static absl::StatusOr<WatchUpdate> Parse(PageString bytes);
  WatchUpdate(v1::WatchResponse response);  // the same without bytes

  // The cell that it is of, if it says so.
  const std::string& cell() const { return part ? part->cell() : rest.heartbeat().cell(); }

  std::optional<SnapshotPart> part;  // WatchResponse.snapshot
  v1::WatchResponse rest;            // without `snapshot`
};

}  // namespace shardmanager::discovery
