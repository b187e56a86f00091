// The shards of an app as its spec names them, in key order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shardmanager/types.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

struct LayoutShard {
  ShardId id;
  bool has_range = false;
  bool hashed = false;             // the range is of the key's hash (KeySpace.hash_keys)
  std::string start;               // "" : from the first key
  std::string end;                 // "" : to the last key
  std::string preferred_region;    // ordered, else the shard's, else the app's; "": none
  bool region_ordered = false;     // see region_preferences.h
  uint32_t preference_weight = 1;  // of that order; 1 without one
};

// Do the shards hold ranges of the hash of the key?
bool HashesKeys(const v1::KeySpace& keys);

// Shards in ascending order of range start (or of id, without ranges); expands
// `split_points` and `hash_shards`. REQUIRES: the spec is valid (spec_validation.h).
std::vector<LayoutShard> ExpandLayout(const v1::AppSpec& spec);

}  // namespace shardmanager
