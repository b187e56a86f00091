// One part of a whole shard map, as the bytes that came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/pages.h"
#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager {

// A v1::MapSnapshot of 100,000 shards is 36 MB of small objects; its bytes are 6. So whoever makes
// something else out of it reads it in pieces, and never has all of it as objects.
class SnapshotPart {
 public:
  // INVALID_ARGUMENT: these bytes are no v1::MapSnapshot.
  static absl::StatusOr<SnapshotPart> Parse(PageString bytes);
  explicit SnapshotPart(const v1::MapSnapshot& part);

  // As in v1::MapSnapshot.
  MapVersion version() const { return version_; }
  const std::string& cell() const { return cell_; }
  bool last() const { return last_; }

  size_t shards() const { return shards_; }
  bool has_servers() const { return has_servers_; }
  // May it have the shard?
  bool MayHave(uint32_t shard) const { return first_shard_ <= shard && shard <= last_shard_; }

  // Calls `take` with one piece after the other, which are all of it: the first has everything but
  // shards, and each has some hundreds of these at most. Ends with the first status that is not
  // OK. INVALID_ARGUMENT: there is text that is not UTF-8.
  using Take = std::function<absl::Status(v1::MapSnapshot& piece)>;
  absl::Status ForEachPiece(const Take& take) const;

  // Adds all of it.
  void MergeInto(v1::MapSnapshot& whole) const;
  // Calls `change` with one piece after the other, and is what it makes of them from then on; or
  // what it was, if it cannot be read.
  void Change(const std::function<void(v1::MapSnapshot& piece)>& change);

 private:
  SnapshotPart() = default;
  void Note(const v1::MapSnapshot& piece);

  PageString bytes_;
  MapVersion version_;
  std::string cell_;
  bool last_ = false;
  bool has_servers_ = false;
  size_t shards_ = 0;
  uint32_t first_shard_ = UINT32_MAX;
  uint32_t last_shard_ = 0;
};

}  // namespace shardmanager
