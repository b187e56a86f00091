#include "discovery/map_receiver.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::discovery {
void MapReceiver::StreamOpened() {
  partial_.reset();
  behind_.reset();
  stale_ = false;
  no_such_app_in_.clear();
  newest_.reset();
  suspects_.reset();
}

bool MapReceiver::is_newest() const {
  return !stale_ && !needs_snapshot_ && !partial_.has_value() && !behind_.has_value() &&
         newest_.has_value() && newest_ == held_;
}

void MapReceiver::Note(const WatchUpdate& update) {
  const v1::WatchResponse& response = update.rest;
  const v1::Heartbeat& heartbeat = response.heartbeat();
  stale_ = heartbeat.stale();
  no_such_app_in_ = heartbeat.no_such_app() ? heartbeat.cell() : "";
  suspects_.reset();
  if (update.part && !response.more()) {
    newest_ = update.part->version();
  } else if (response.has_delta()) {
    newest_ = MapVersion::From(response.delta().version());
  } else if (heartbeat.has_version()) {
    newest_ = MapVersion::From(heartbeat.version());
  } else {
    newest_.reset();
  }
}

Received MapReceiver::Receive(WatchUpdate update) {
  Note(update);
  v1::WatchResponse& response = update.rest;
  if (update.part) return ReceivePart(*std::move(update.part), response.more());
  switch (response.update_case()) {
    case v1::WatchResponse::kSnapshot:  // is update.part
      return Nothing{};
    case v1::WatchResponse::kDelta:
      return ReceiveDelta(std::move(*response.mutable_delta()));
    case v1::WatchResponse::kHeartbeat:
      return ReceiveHeartbeat(response.heartbeat());
    case v1::WatchResponse::UPDATE_NOT_SET:  // a kind that only newer builds know
      return Nothing{};
  }
  return Nothing{};
}

Received MapReceiver::ReceivePart(SnapshotPart part, bool more) {
  const MapVersion version = part.version();
  const bool last = part.last();
  if (!partial_.has_value()) {
    partial_.emplace(std::move(part));
  } else if (version != partial_->version()) {
    return Break(absl::StrCat("a part of snapshot ", version.ToString(), " inside snapshot ",
                              partial_->version().ToString()));
  } else {
    partial_->Add(std::move(part));
  }
  if (!last) return Nothing{};
  WholeMap whole = *std::move(partial_);
  partial_.reset();
  return ReceiveWhole(std::move(whole), more);
}

Received MapReceiver::ReceiveWhole(WholeMap whole, bool more) {
  const MapVersion version = whole.version();
  behind_.reset();
  const bool newer = !held_.has_value() || version > *held_;
  const bool distrusts = needs_snapshot_;
  if (!newer || !more) needs_snapshot_ = false;
  if (newer && !more) {
    held_ = version;
    return whole;
  }
  if (version != held_ || distrusts) behind_ = std::move(whole);
  return Nothing{};
}

// What the publisher said last is the newest that it has, unless it names a newer version: then
// what leads there is on its way, and this only says that the stream is alive.
Received MapReceiver::ReceiveHeartbeat(const v1::Heartbeat& heartbeat) {
  suspects_.emplace(heartbeat.suspects().begin(), heartbeat.suspects().end());
  if (!behind_.has_value() || partial_.has_value()) return Nothing{};
  const MapVersion version = behind_->version();
  if (MapVersion::From(heartbeat.version()) > version) return Nothing{};
  if (held_.has_value() && version <= *held_) return Nothing{};
  WholeMap whole = *std::move(behind_);
  return ReceiveWhole(std::move(whole), /*more=*/false);
}

Received MapReceiver::ReceiveDelta(v1::MapDelta delta) {
  const MapVersion from = MapVersion::From(delta.from());
  const MapVersion to = MapVersion::From(delta.version());
  if (partial_.has_value()) return Break("a delta in the middle of a snapshot");
  if (behind_.has_value() && from == behind_->version()) {
    return AdvanceBehind(delta);
  }
  if (!held_.has_value()) return Break("a delta before any snapshot");
  if (to <= *held_) return Nothing{};
  if (from != *held_) {
    return Break(absl::StrCat("a delta from ", from.ToString(), " to ", to.ToString(),
                              ", but the map is at ", held_->ToString()));
  }
  held_ = to;
  return delta;
}

Received MapReceiver::AdvanceBehind(const v1::MapDelta& delta) {
  WholeMap advanced = *std::move(behind_);
  advanced.Apply(delta);
  return ReceiveWhole(std::move(advanced), /*more=*/false);
}

Received MapReceiver::Break(std::string reason) {
  partial_.reset();
  behind_.reset();
  needs_snapshot_ = true;
  return Broken{std::move(reason)};
}

std::optional<MapVersion> MapReceiver::known() const {
  return needs_snapshot_ ? std::nullopt : held_;
}

void MapReceiver::Distrust(std::optional<MapVersion> held) {
  held_ = held;
  needs_snapshot_ = true;
}

}  // namespace shardmanager::discovery
