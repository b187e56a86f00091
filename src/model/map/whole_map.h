// A whole shard map as it travels: in parts, which are kept as bytes and read one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager {

// A v1::MapSnapshot of 100,000 shards is 36 MB of small objects; its bytes are 6. So whoever makes
// something else out of a map reads it part by part, and never has all of it as objects.
class WholeMap {
 public:
  // Of one message, or of the first part.
  explicit WholeMap(const v1::MapSnapshot& part);
  // REQUIRES: the same version.
  void Add(const v1::MapSnapshot& part);

  MapVersion version() const { return version_; }
  // MapSnapshot.cell.
  const std::string& cell() const { return cell_; }
  size_t shards() const { return shards_; }

  // Makes it the map that follows from `delta`. A shard that it does not have is left out.
  void Apply(const v1::MapDelta& delta);

  // Calls `take` with each part in order: the servers of its shards are in it, or in one before.
  // Ends with the first status that is not OK.
  using Take = std::function<absl::Status(const v1::MapSnapshot& part)>;
  absl::Status ForEachPart(const Take& take) const;

  // In one piece: for small maps, and for whoever needs all of it at once.
  v1::MapSnapshot ToSnapshot() const;

 private:
  struct Part {
    std::string bytes;  // a v1::MapSnapshot
    // Its shards are of these indexes.
    uint32_t first = 0;
    uint32_t last = 0;
    bool has_servers = false;
    bool Has(uint32_t shard) const { return first <= shard && shard <= last; }
  };
  static Part Pack(const v1::MapSnapshot& part);

  MapVersion version_;
  std::string cell_;
  size_t shards_ = 0;
  std::vector<Part> parts_;
};

}  // namespace shardmanager
