// Where and when to connect next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "base/time.h"
#include "model/map_reach.h"

namespace shardmanager::discovery {

// Takes endpoints in turn. One round through all of them goes quickly; each further
// round waits twice as long as the one before, up to a limit. Random within the
// upper half, so that the subscribers of a lost publisher do not come back in step.
class ReconnectPolicy {
 public:
  struct Limits {
    Duration shortest = Milliseconds(100);
    // Of a subscriber without a map, which can do nothing meanwhile.
    Duration longest = Milliseconds(500);
    // Of one that uses the map that it has. A publisher that was away for seconds and comes back
    // has thousands of them, which would take all of its time if they came at the same time.
    Duration longest_with_map = kClientsReturnWithin;
  };
  struct Next {
    size_t endpoint;
    Duration delay;
  };

  // REQUIRES: endpoints > 0.
  ReconnectPolicy(size_t endpoints, Limits limits, uint64_t seed)
      : endpoints_(endpoints), limits_(limits), random_(seed) {}

  size_t endpoint() const { return endpoint_; }
  // The connection delivered: what fails next is a new story.
  void OnUseful() { failures_ = stale_ = 0; }
  // The publisher said (again) that it may not have the newest map. True: try the next
  // endpoint. False: all were tried in turn and said so; stay until it says so once more.
  bool OnStale() { return ++stale_ % endpoints_ != 0; }
  // It failed, or ended. `has_map`: the subscriber holds one, or is in no hurry for another reason.
  Next OnFailure(bool has_map);

 private:
  const size_t endpoints_;
  const Limits limits_;
  Random random_;
  size_t endpoint_ = 0;
  uint64_t failures_ = 0;
  uint64_t stale_ = 0;  // publishers in a row that said so
};

}  // namespace shardmanager::discovery
