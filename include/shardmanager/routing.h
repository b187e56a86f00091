// Routing functions: from a key to a shard id, for apps whose clients address shards by id
// (Router::GetClientForShard), and keys made of several parts. docs/routing.md says what to use
// when.
//
// All of them are pure: the answer follows from the key and the shards alone, not from the machine,
// the process, the order in which the shards are listed or the version of this library. They are
// total: every key, of any bytes, has a shard. What is hashed is said below, byte by byte, so that
// a client in another language can do the same; tests/routing/reference.py is such an
// implementation, and tests/routing/vectors.txt has vectors to compare with.
//
// In what follows, XXH64(bytes, seed) is the hash of that name as xxHash's specification defines
// it, BE8(x) are the 8 bytes of x, the most significant one first, and ids compare as unsigned
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "shardmanager/types.h"

namespace shardmanager {

// XXH64(key, 0). Uniform over all 64-bit numbers, for keys that nobody chose in order to collide:
// the function is public and has no secret, see "hash flooding" in docs/routing.md.
uint64_t KeyHash(std::string_view key);

// A shard among which keys are spread.
struct RoutedShard {
  ShardId id = {};
  // Its part of the keys is weight / (sum of all weights). Range 1 to 1,000. Default 1.
  uint32_t weight = 1;
};

// Highest random weight. Each shard gets a score for the key, and the highest one wins:
//
//   score(id, key) = the greatest of XXH64(BE8(XXH64(key, 0)), XXH64(id, i)),
//                    for i from 0 to weight - 1
//
// Of equal scores that of the smaller id wins. A shard that is added takes 1/(N+1) of the keys, as
// many from each other shard; one that is removed gives its keys to all others; no other key moves.
// The spread is that of a random draw, which no number of virtual nodes can improve. A lookup costs
// one XXH64 of 8 bytes for each unit of weight: O(sum of weights), about 6 ns for each. So it is
// for up to some hundred shards; above, use RingHash. 12 bytes of memory for each unit of weight.
//
// Immutable, thread-safe, copyable.
class RendezvousHash {
 public:
  // INVALID_ARGUMENT: no shards, an id that is empty or named twice, a weight out of range, or
  // weights that are more than 1,000,000 together. The order of `shards` means nothing.
  static absl::StatusOr<RendezvousHash> Make(std::vector<RoutedShard> shards);

  // Good as long as this object.
  const ShardId& Find(std::string_view key) const;

 private:
  explicit RendezvousHash(std::vector<RoutedShard> sorted);

  std::vector<ShardId> ids_;      // ascending
  std::vector<uint64_t> seeds_;   // of each unit of weight, shard after shard
  std::vector<uint32_t> owners_;  // of each seed: index in ids_
};

// Consistent hashing on a ring of all 64-bit numbers. Each shard stands at several points of it:
//
//   point(id, i) = XXH64(id, i), i from 0 to weight * virtual_nodes - 1
//
// The key stands at XXH64(key, 0), and belongs to the first point that is equal or greater; if
// there is none, to the smallest point of all. Of equal points that of the smaller id counts. A
// shard that is added takes about 1/(N+1) of the keys, one that is removed gives its keys to the
// others; no other key moves. A shard's part of the keys is uneven: its standard deviation is
// 1/sqrt(virtual_nodes) of the mean (6% with 256). A lookup costs XXH64 of the key and a binary
// search: O(log(N * virtual_nodes)). 12 bytes of memory for each point.
//
// Immutable, thread-safe, copyable.
class RingHash {
 public:
  // Points of a shard of weight 1. All who route the same keys must use the same number.
  static constexpr uint32_t kVirtualNodes = 256;

  // INVALID_ARGUMENT: as of RendezvousHash; `virtual_nodes` is 0, or there are more than
  // 100,000,000 points.
  static absl::StatusOr<RingHash> Make(std::vector<RoutedShard> shards,
                                       uint32_t virtual_nodes = kVirtualNodes);

  // Good as long as this object.
  const ShardId& Find(std::string_view key) const;

 private:
  RingHash(std::vector<RoutedShard> sorted, uint32_t virtual_nodes);

  std::vector<ShardId> ids_;      // ascending
  std::vector<uint64_t> points_;  // ascending, each once
  std::vector<uint32_t> owners_;  // of each point: index in ids_
};

// ---- Keys that are numbers.
//
// The bytes of a number, the most significant one first: keys then compare as the numbers do, and
// ranges of keys are ranges of numbers. Specs write such a bound as !u64 1000 (or !u32, !u16).
std::string NumberKey(uint64_t number);    // 8 bytes
std::string NumberKey32(uint32_t number);  // 4 bytes
// Nothing: the key is not of 8 bytes.
std::optional<uint64_t> ParseNumberKey(std::string_view key);

// ---- Keys of an entity and a time bucket.
//
// A key that begins with the time sends everything that is written now to one shard. Put first what
// the requests are about (a user, a device, a metric), then the number of the time bucket (such as
// Unix time in hours). All keys of an entity are then neighbours, in the order of time:
//
//   EntityKey("sensor-7", 1)  =  "sensor-7" 00 01 "0000000000000001"
//
// The bytes: `entity`, in which 00 is written as 00 02; then 00 01; then the bucket as 16
// lower-case hexadecimal digits. Keys compare as (entity, bucket), no two pairs have the same key,
// and UTF-8 stays UTF-8. Where keys are hashed (RendezvousHash, RingHash, KeySpace.hash_keys), call
// with the prefix alone: then the shard follows from the entity, and one shard has all of its
// buckets.

// The routing prefix: what all keys of the entity begin with, and no other key does.
std::string EntityPrefix(std::string_view entity);
std::string EntityKey(std::string_view entity, uint64_t bucket);
// The first key after all of the entity: it has the keys of [EntityPrefix(e), EntityEnd(e)). For
// scans.
std::string EntityEnd(std::string_view entity);

struct EntityBucket {
  std::string entity = {};
  uint64_t bucket = 0;
  friend bool operator==(const EntityBucket&, const EntityBucket&) = default;
};
// What EntityKey was made of; nothing: it is no such key.
std::optional<EntityBucket> ParseEntityKey(std::string_view key);

}  // namespace shardmanager
