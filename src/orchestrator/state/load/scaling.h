// How many replicas each shard has for its load: of apps whose spec has AppSpec.scaling.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"
#include "model/spec/scaling.h"

namespace shardmanager::orchestrator {

// What the last look found of a shard.
enum class ScaleState : uint8_t {
  kUnknown,   // no replica has said what it carries
  kHeld,      // the app is paused, or the shard is pinned or held back: nothing is changed
  kSettling,  // replicas are on their way since a moment, or have not said yet what they carry
  kSteady,
  kTooFew,
  kAtMost,   // too few, and scaling.max_replicas are there
  kNoRoom,   // too few, and there was no place for one more
  kTooMany,  // one goes after scaling.down_after_ms
};

struct ScaledShard {
  uint8_t wanted = 0;  // replicas; 0: as many as scaling allows at least
  uint8_t needed = 0;  // for the load, within the bounds; 0: not known
  ScaleState state = ScaleState::kUnknown;
  float load = -1;            // of one replica, on average; below 0: not known
  float total = -1;           // of all that serve; below 0: not known
  float to_share = -1;        // by the replicas that are on their way; below 0: nothing was changed
  TimePoint since{};          // when it came to that state
  TimePoint last_whole{};     // all its replicas served, and no others were there
  TimePoint last_broken{};    // that was not so, or it was changed
  TimePoint no_room_until{};  // no replica is added before
};

struct Scaling {
  ScalingRules rules;
  std::vector<ScaledShard> shards;  // by ShardIndex; empty without such a policy
  std::deque<TimePoint> changes;    // replicas that were added and dropped within the last minute
  size_t needier = 0;               // shards without a place for one of replication.replicas
};

}  // namespace shardmanager::orchestrator
