// The shards of one app and their key ranges: what does not change from one map
// version to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "base/dense_id.h"
#include "base/pages.h"
#include "model/map/whole_map.h"
#include "router/key_table.h"
#include "router/packed_strings.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

// Immutable once it is built; shared by all maps of one layout. A shard costs its id,
// its start and 25 bytes, if its range ends where the next one's starts, and starts are no longer
// than 7 bytes without what all have in common.
class MapLayout {
 public:
  // Takes the shards of one part of a map after the other. INVALID_ARGUMENT: two shards with one id
  // or one range start, or indexes that are not 0, 1, 2, ...
  class Builder {
   public:
    // Of so many shards, about.
    explicit Builder(size_t shards);
    absl::Status Add(const v1::MapSnapshot& part);
    // REQUIRES: called once, as the last.
    absl::Status Finish(std::shared_ptr<const MapLayout>* layout);

   private:
    std::shared_ptr<MapLayout> built_;
  };

  // The shard that holds the key; invalid if none does. No lock, no allocation.
  ShardIndex FindByKey(std::string_view key) const { return hashed_ ? FindByHash(key) : Find(key); }
  // Do the shards hold ranges of the keys' hashes (MapShard.hash_range)?
  bool hashed() const { return hashed_; }
  ShardIndex FindById(std::string_view id) const;
  // The shards that hold keys of [start, end), in key order; an empty end is the end of all keys.
  // REQUIRES: not hashed(), or both are empty: then it is all shards.
  std::vector<ShardIndex> FindInRange(std::string_view start, std::string_view end) const;

  std::string_view id(ShardIndex shard) const { return ids_[shard.index()]; }
  // Its keys, or their hashes; both empty where shards have no ranges.
  std::string_view start(ShardIndex shard) const { return bounds_[BoundOf(shard.index())]; }
  std::string_view end(ShardIndex shard) const { return bounds_[BoundOf(shard.index()) + 1]; }
  size_t size() const { return ids_.size(); }

  // Has `whole` this layout? Costs a look at each shard, and the memory of a part.
  bool Matches(const WholeMap& whole) const;

 private:
  // Shards by id; only their numbers are kept.
  struct IdHash {
    using is_transparent = void;
    const PackedStrings* ids;
    size_t operator()(std::string_view id) const { return absl::Hash<std::string_view>()(id); }
    size_t operator()(uint32_t shard) const { return (*this)((*ids)[shard]); }
  };
  struct IdEqual {
    using is_transparent = void;
    const PackedStrings* ids;
    bool operator()(uint32_t a, uint32_t b) const { return (*ids)[a] == (*ids)[b]; }
    bool operator()(uint32_t a, std::string_view id) const { return (*ids)[a] == id; }
    bool operator()(std::string_view id, uint32_t a) const { return (*ids)[a] == id; }
  };

  MapLayout() : by_id_(0, IdHash{&ids_}, IdEqual{&ids_}), starts_({}) {}
  MapLayout(const MapLayout&) = delete;

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
  absl::Status Take(const v1::MapShard& shard);
  absl::Status TakeRange(size_t shard, const v1::KeyRange& range);
  absl::Status OrderByKey();
  bool HasRange(size_t shard) const { return ranged_[shard]; }
  bool BeforeEnd(ShardIndex shard, std::string_view key) const;
  bool HasShardAt(size_t at, const v1::MapShard& shard) const;

  // Where the shard's start is in bounds_; its end is the next one.
  size_t BoundOf(size_t shard) const {
    return first_bounds_.empty() ? shard : first_bounds_[shard];
  }

  PackedStrings ids_;
  absl::flat_hash_set<uint32_t, IdHash, IdEqual> by_id_;
  KeyTable starts_;                      // of the shards that have ranges
  PageVector<ShardIndex> in_key_order_;  // empty: as indexed
  bool hashed_ = false;                  // ranges are of the keys' hashes
  bool gapless_ = true;                  // each range ends where the next one starts
  PackedStrings bounds_;                 // an end that is the next shard's start is there once
  PageVector<uint32_t> first_bounds_;    // empty: by the shard's index
  std::vector<bool> ranged_;             // does the shard have a range?
};

}  // namespace shardmanager::router
