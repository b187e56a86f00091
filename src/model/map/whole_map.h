// A whole shard map as it travels: in parts, which are kept as bytes and read one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/map/snapshot_part.h"
#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager {

// Whoever makes something else out of a map reads it piece by piece (SnapshotPart).
class WholeMap {
 public:
  // Of one message, or of the first part.
  explicit WholeMap(SnapshotPart part);
  explicit WholeMap(const v1::MapSnapshot& part) : WholeMap(SnapshotPart(part)) {}
  // REQUIRES: the same version.
  void Add(SnapshotPart part);
  void Add(const v1::MapSnapshot& part) { Add(SnapshotPart(part)); }

  MapVersion version() const { return version_; }
  // MapSnapshot.cell.
  const std::string& cell() const { return cell_; }
  size_t shards() const { return shards_; }

  // Makes it the map that follows from `delta`. A shard that it does not have is left out.
  void Apply(const v1::MapDelta& delta);

  // Calls `take` with each piece in order: the servers of its shards are in it, or in one before.
  // Ends with the first status that is not OK.
  using Take = std::function<absl::Status(const v1::MapSnapshot& piece)>;
  absl::Status ForEachPiece(const Take& take) const;

  // In one piece: for small maps, and for whoever needs all of it at once.
  v1::MapSnapshot ToSnapshot() const;

 private:
  MapVersion version_;
  std::string cell_;
  size_t shards_ = 0;
  std::vector<SnapshotPart> parts_;
};

}  // namespace shardmanager
