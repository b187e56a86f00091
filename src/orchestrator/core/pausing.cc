#include "orchestrator/core/pausing.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/pause.h"
#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/pause.h"

namespace shardmanager::orchestrator {
namespace {

using google::protobuf::util::MessageDifferencer;

bool Same(const std::optional<v1::Pause>& a, const std::optional<v1::Pause>& b) {
  return a.has_value() == b.has_value() && (!a || MessageDifferencer::Equals(*a, *b));
}

// Null: the shard is not among them.
const v1::Pin* Find(const std::vector<v1::Pin>& pins, const std::string& shard) {
  const auto found = std::find_if(pins.begin(), pins.end(),
                                  [&](const v1::Pin& pin) { return pin.shard() == shard; });
  return found == pins.end() ? nullptr : &*found;
}

}  // namespace

void Pausing::MarkPinned(const std::vector<v1::Pin>& pins, bool pinned) {
  for (const v1::Pin& pin : pins) {
    const ShardIndex id = state_.tables.FindShard(pin.shard());
    if (id.valid()) state_.tables.shard(id).pinned = pinned;
  }
}

void Pausing::Adopt(const std::vector<v1::Pin>& pins) {
  const std::vector<v1::Pin> before = std::exchange(state_.ordered.pins, pins);
  for (const v1::Pin& pin : before) {
    if (Find(pins, pin.shard()) == nullptr) Tell(NoteKind::kUnpinned, pin);
  }
  for (const v1::Pin& pin : pins) {
    const v1::Pin* known = Find(before, pin.shard());
    if (known == nullptr || !MessageDifferencer::Equals(*known, pin)) Tell(NoteKind::kPinned, pin);
  }
  MarkPinned(before, false);
  MarkPinned(pins, true);
  ForgetPlans();
}

void Pausing::Tell(NoteKind kind, const v1::Pin& pin) {
  const ShardIndex id = state_.tables.FindShard(pin.shard());
  const bool unpinned = kind == NoteKind::kUnpinned;
  agenda_.AddNote(kind, ServerIndex(), id,
                  absl::StrCat(id.valid() ? "" : absl::StrCat(pin.shard(), " "),
                               unpinned ? "it was " : "", PinText(pin)));
  agenda_.BalanceAnew();
  if (id.valid()) agenda_.MarkDirty(id);
}

void Pausing::ForgetPlans() {
  state_.moves.Forget([&](ShardIndex shard, ServerIndex from) {
    return StaysPut(state_, shard) || HoldsMove(state_, from);
  });
  absl::erase_if(state_.switchovers.to, [&](const auto& planned) {
    const bool stays = StaysPut(state_, planned.first) || OnlyBalanceIsPaused(state_);
    return stays && !state_.switchovers.under_way.contains(planned.first);
  });
}

void Pausing::Adopt(const std::optional<v1::Pause>& pause) {
  if (Same(state_.ordered.pause, pause)) return;
  const std::optional<v1::Pause> before = std::exchange(state_.ordered.pause, pause);
  agenda_.AddNote(pause ? NoteKind::kPaused : NoteKind::kResumed, ServerIndex(), ShardIndex(),
                  pause ? PauseText(*pause) : "it was: " + PauseText(*before));
  ForgetPlans();
  agenda_.BalanceAnew();
  agenda_.RetryUnplaceable();
  agenda_.MarkAllDirty();
  if (PlacesNothing(state_)) return;
  for (const ServerIndex id : state_.tables.servers()) {
    const Server& server = state_.tables.server(id);
    const bool lost = server.state == ServerState::kLost || server.state == ServerState::kDeparted;
    if (!lost || server.failing_over || server.record_unread) continue;
    agenda_.SetTimer(std::max(Duration(0), server.failover_at - state_.now), TimerKind::kFailover,
                     id.index());
  }
}

}  // namespace shardmanager::orchestrator
