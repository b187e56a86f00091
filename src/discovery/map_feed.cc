#include "discovery/map_feed.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"

namespace shardmanager::discovery {

Verdict MapFeed::Publish(const v1::MapSnapshot& whole) {
  Verdict verdict = CheckNewer(MapVersion::From(whole.version()));
  if (verdict.kind != Verdict::kApplied) return verdict;
  MapState next;
  absl::Status decoded = MapState::Decode(whole, &next);
  return Replace(std::move(decoded), std::move(next));
}

Verdict MapFeed::Publish(const WholeMap& whole) {
  Verdict verdict = CheckNewer(whole.version());
  if (verdict.kind != Verdict::kApplied) return verdict;
  MapState next;
  absl::Status decoded = MapState::Decode(whole, &next);
  return Replace(std::move(decoded), std::move(next));
}

Verdict MapFeed::Replace(absl::Status decoded, MapState next) {
  if (!decoded.ok()) return {Verdict::kMalformed, std::string(decoded.message())};
  // The identity of a cell is not in deltas: another cell comes as a snapshot.
  const bool same_cell = state_.has_value() && state_->cell() == next.cell();
  if (same_cell && state_->SameLayout(next)) {
    Advance(state_->DifferenceTo(next));
  } else {
    log_.Clear();
    base_.reset();
  }
  deltas_.clear();
  state_ = std::move(next);
  return {};
}

Verdict MapFeed::Publish(const v1::MapDelta& delta) {
  const MapVersion from = MapVersion::From(delta.from());
  const MapVersion to = MapVersion::From(delta.version());
  Verdict verdict = CheckNewer(to);
  if (verdict.kind != Verdict::kApplied) return verdict;
  if (!state_.has_value() || state_->version() != from) {
    return {Verdict::kGap,
            absl::StrCat("delta from ", from.ToString(), " to ", to.ToString(), ", but the map ",
                         state_ ? absl::StrCat("is at ", state_->version().ToString())
                                : std::string("is not known yet"))};
  }
  Change change;
  if (absl::Status status = state_->Decode(delta, &change); !status.ok()) {
    return {Verdict::kMalformed, std::string(status.message())};
  }
  state_->Apply(change);
  Advance(std::move(change));
  deltas_.clear();
  return {};
}

void MapFeed::Advance(Change change) {
  log_.Append(std::move(change));
  if (base_.has_value() && !log_.Reaches(base_->version)) base_.reset();
}

Verdict MapFeed::CheckNewer(MapVersion version) const {
  if (!state_.has_value() || version > state_->version()) return {};
  return {Verdict::kStale, absl::StrCat("version ", version.ToString(), ", but ",
                                        state_->version().ToString(), " is known already")};
}

std::optional<MapVersion> MapFeed::version() const {
  if (!state_.has_value()) return std::nullopt;
  return state_->version();
}

MapFeed::CatchUp MapFeed::CatchUpFrom(std::optional<MapVersion> at) {
  if (!state_.has_value()) return {};
  if (!at.has_value() && Planted(Defect::kDeltasWithoutSnapshot)) return {{}, state_->version()};
  if (!at.has_value()) return SnapshotCatchUp();
  if (*at >= state_->version()) return {};
  if (Message delta = DeltaFrom(*at)) return {{delta}, state_->version()};
  return SnapshotCatchUp();
}

Message MapFeed::DeltaFrom(MapVersion from) {
  if (auto cached = deltas_.find(from); cached != deltas_.end()) return cached->second;
  const std::optional<Change> change = log_.Since(from);
  if (!change.has_value() || change->bytes() > limits_.message_bytes) return nullptr;
  // Subscribers stand at a few places at most; stragglers at many are not worth it.
  constexpr size_t kMostCached = 16;
  if (deltas_.size() >= kMostCached) deltas_.clear();
  return deltas_[from] = EncodeDelta(*change);
}

MapFeed::CatchUp MapFeed::SnapshotCatchUp() {
  const MapVersion newest = state_->version();
  if (base_.has_value() && base_->version != newest) {
    if (Message delta = DeltaFrom(base_->version)) {
      if (!std::exchange(base_->marked, true)) base_->parts.back() = WithMore(base_->parts.back());
      CatchUp result{base_->parts, newest};
      result.messages.push_back(std::move(delta));
      return result;
    }
  }
  if (!base_.has_value() || base_->version != newest) {
    base_ = Base{newest, state_->EncodeParts(limits_.message_bytes)};
  }
  return {base_->parts, newest};
}

Message MapFeed::Heartbeat() const {
  v1::Heartbeat heartbeat;
  if (state_.has_value()) *heartbeat.mutable_version() = state_->version().ToProto();
  heartbeat.set_stale(stale_);
  heartbeat.mutable_suspects()->Assign(suspects_.begin(), suspects_.end());
  heartbeat.set_no_such_app(!no_such_app_in().empty());
  heartbeat.set_cell(cell());
  return Encode(heartbeat);
}

bool MapFeed::SetNoSuchAppIn(std::string cell) {
  if (cell == no_such_app_in_) return false;
  no_such_app_in_ = std::move(cell);
  return true;
}

const std::string& MapFeed::no_such_app_in() const {
  static const std::string kNothing;
  return state_.has_value() || stale_ ? kNothing : no_such_app_in_;
}

const std::string& MapFeed::cell() const {
  return state_.has_value() ? state_->cell() : no_such_app_in_;
}

bool MapFeed::SetSuspects(std::vector<std::string> suspects) {
  if (suspects == suspects_) return false;
  suspects_ = std::move(suspects);
  ++suspect_changes_;
  return true;
}

}  // namespace shardmanager::discovery
