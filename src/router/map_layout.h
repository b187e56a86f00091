// The shards of one app and their key ranges: what does not change from one map
// version to the next.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/dense_id.h"
#include "router/key_table.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

// Immutable; shared by all maps of one layout.
class MapLayout {
 public:
  // INVALID_ARGUMENT: two shards with one id or one range start, or indexes that are
  // not 0, 1, 2, ...
  static absl::Status Build(const v1::MapSnapshot& whole, std::shared_ptr<const MapLayout>* layout);

  // The shard that holds the key; invalid if none does. No lock, no allocation.
  ShardIndex FindByKey(std::string_view key) const { return hashed_ ? FindByHash(key) : Find(key); }
  // Do the shards hold ranges of the keys' hashes (MapShard.hash_range)?
  bool hashed() const { return hashed_; }
  ShardIndex FindById(std::string_view id) const;
  // The shards that hold keys of [start, end), in key order; an empty end is the end of all keys.
  // REQUIRES: not hashed(), or both are empty: then it is all shards.
  std::vector<ShardIndex> FindInRange(std::string_view start, std::string_view end) const;

  const std::string& id(ShardIndex shard) const { return ids_[shard.index()]; }
  // Its keys, or their hashes; both empty where shards have no ranges.
  const std::string& start(ShardIndex shard) const { return ranges_[shard.index()].start; }
  const std::string& end(ShardIndex shard) const { return ranges_[shard.index()].end; }
  size_t size() const { return ids_.size(); }

  // Has `whole` this layout? Costs a look at each shard, and no memory.
  bool Matches(const v1::MapSnapshot& whole) const;

 private:
  MapLayout() : starts_({}) {}

  // `key`: of a key, or the digits of a hash.
  ShardIndex Find(std::string_view key) const {
    const size_t count = starts_.CountUpTo(key);
    if (count == 0) [[unlikely]]
      return ShardIndex();
    const ShardIndex shard =
        in_key_order_.empty() ? ShardIndex(count - 1) : in_key_order_[count - 1];
    if (!gapless_ && !BeforeEnd(shard, key)) [[unlikely]]
      return ShardIndex();
    return shard;
  }
  ShardIndex FindByHash(std::string_view key) const;
  absl::Status TakeIds(const v1::MapSnapshot& whole);
  absl::Status OrderByKey();
  bool BeforeEnd(ShardIndex shard, std::string_view key) const;

  std::vector<std::string> ids_;
  absl::flat_hash_map<std::string_view, ShardIndex> by_id_;  // into ids_
  KeyTable starts_;                                          // of the shards that have ranges
  std::vector<ShardIndex> in_key_order_;                     // empty: as indexed
  bool hashed_ = false;
  bool gapless_ = true;  // each range ends where the next one starts
  struct Range {
    bool present = false;
    std::string start;
    std::string end;
  };
  std::vector<Range> ranges_;
};

}  // namespace shardmanager::router
