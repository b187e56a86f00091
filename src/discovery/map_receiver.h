// The subscriber's side of one Discovery.Watch stream after another: puts parts
// together and lets nothing old, torn or out of order through.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "discovery/watch_update.h"
#include "model/map/whole_map.h"
#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// What one message means to who holds the map. Heartbeats, parts of a snapshot and
// whatever is not newer than the map held mean Nothing.
struct Nothing {};
// This stream is of no use: open another one without `known`.
struct Broken {
  std::string reason;
};
using Received = std::variant<Nothing, WholeMap, v1::MapDelta, Broken>;

class MapReceiver {
 public:
  // `known`: the version already held, if any.
  explicit MapReceiver(std::optional<MapVersion> known = std::nullopt) : held_(known) {}

  // A new stream begins: the parts of a snapshot that the last one left are void.
  void StreamOpened();

  // Snapshots come out whole, an old one (WatchResponse.more) only together with the delta
  // that follows it. What comes out counts as held from then on.
  Received Receive(WatchUpdate update);

  // The last message was a heartbeat that said that the publisher may not have the newest
  // map: another publisher may.
  bool stale() const { return stale_; }
  // The last message was a heartbeat that said that this cell has no such app; "": it was not.
  const std::string& no_such_app_in() const { return no_such_app_in_; }
  // The publisher of this stream has said that what is held is the newest map, and is sure of it.
  bool is_newest() const;
  // Heartbeat.suspects, if the last message was a heartbeat.
  const std::optional<std::vector<std::string>>& suspects() const { return suspects_; }

  // What to send as WatchRequest.known: the version held, unless the last stream
  // broke or Distrust() was called.
  std::optional<MapVersion> known() const;
  std::optional<MapVersion> held() const { return held_; }

  // What came out could not be applied to `held`, which is what there is: begin again
  // with a snapshot. Of an older one nothing comes out until deltas have brought it
  // past `held`; otherwise the two would contradict each other for ever.
  void Distrust(std::optional<MapVersion> held);

 private:
  void Note(const WatchUpdate& update);
  Received ReceivePart(SnapshotPart part, bool more);
  Received ReceiveWhole(WholeMap whole, bool more);
  Received ReceiveHeartbeat(const v1::Heartbeat& heartbeat);
  Received ReceiveDelta(v1::MapDelta delta);
  Received AdvanceBehind(const v1::MapDelta& delta);
  Received Break(std::string reason);

  std::optional<MapVersion> held_;
  bool needs_snapshot_ = false;
  bool stale_ = false;
  std::string no_such_app_in_;
  // The version that the publisher of this stream named last, if nothing that leads to another one
  // is on its way.
  std::optional<MapVersion> newest_;
  std::optional<std::vector<std::string>> suspects_;
  std::optional<WholeMap> partial_;
  // Where the publisher stands, as long as that is not to be used: it is behind what is
  // held, or the publisher said that more follows. It may send an old snapshot and then one
  // delta that passes us.
  std::optional<WholeMap> behind_;
};

}  // namespace shardmanager::discovery
