// What the publisher of one app's shard map knows, and what it tells whom.
//
// Subscribers pull: each says where it stands and gets what brings it to the
// newest version in one step. So a slow one costs no memory and skips what it
// missed, and those that stand at one place share one message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "discovery/delta_log.h"
#include "discovery/map_encoding.h"
#include "discovery/map_state.h"
#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

struct FeedLimits {
  // No message is (much) larger. A delta that would be is replaced by a snapshot,
  // which can be cut into parts. gRPC refuses more than 4 MiB by default.
  size_t message_bytes = 1'000'000;
  DeltaLogLimits log;
};

// What became of something published.
struct Verdict {
  enum Kind {
    kApplied,
    kStale,      // not newer than what is known: ignored
    kGap,        // a delta from another version: the publisher must send a snapshot
    kMalformed,  // contradicts itself or the map: ignored
  };
  Kind kind = kApplied;
  std::string reason;  // empty when applied
};

class MapFeed {
 public:
  explicit MapFeed(FeedLimits limits = {}) : limits_(limits), log_(limits.log) {}

  // The whole map in one piece. With the same cell and layout as before, subscribers get
  // only the difference.
  Verdict Publish(const WholeMap& whole);
  Verdict Publish(const v1::MapSnapshot& whole);
  Verdict Publish(const v1::MapDelta& delta);

  // The version published last; nothing before the first.
  std::optional<MapVersion> version() const;

  struct CatchUp {
    std::vector<Message> messages;  // to be sent in this order; empty: nothing to say
    MapVersion version;             // where they lead; meaningless when empty
  };
  // For a subscriber that holds `at` (nothing: no map yet). One that is ahead of us
  // gets nothing until we catch up with it.
  CatchUp CatchUpFrom(std::optional<MapVersion> at);

  Message Heartbeat() const;

  // Whether the publisher cannot tell that its map is the newest (Heartbeat.stale).
  void SetStale(bool stale) { stale_ = stale; }
  bool stale() const { return stale_; }

  // The cell, of which the publisher is sure that it has no such app; "": of none. False: as
  // before.
  bool SetNoSuchAppIn(std::string cell);
  // The same as subscribers are told: "" when there is a map, or the publisher is stale.
  const std::string& no_such_app_in() const;
  // Of the map, or else of the publisher, as far as that is known. "": not known.
  const std::string& cell() const;

  // Heartbeat.suspects. False: they are the same as before.
  bool SetSuspects(std::vector<std::string> suspects);
  // How often they changed.
  uint64_t suspect_changes() const { return suspect_changes_; }

 private:
  struct Base {
    MapVersion version;
    std::vector<Message> parts;
    bool marked = false;  // the last part, with WatchResponse.more: a newer version exists
  };

  Verdict Replace(absl::Status decoded, MapState next);
  void Advance(Change change);
  Verdict CheckNewer(MapVersion version) const;
  // What leads from `from` to the newest version in one message; null if only a
  // snapshot does.
  Message DeltaFrom(MapVersion from);
  CatchUp SnapshotCatchUp();

  const FeedLimits limits_;
  bool stale_ = false;
  std::string no_such_app_in_;
  std::vector<std::string> suspects_;
  uint64_t suspect_changes_ = 0;
  std::optional<MapState> state_;
  DeltaLog log_;
  // Encoded when first asked for. A snapshot stays in use as long as one delta
  // leads from it to the newest version, so a crowd of new subscribers costs one
  // encoding.
  std::optional<Base> base_;
  std::map<MapVersion, Message> deltas_;  // by `from`, to the newest version
};

}  // namespace shardmanager::discovery
