#include "wire/events/event_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "history/folding.h"
#include "runtime/clock.h"

namespace shardmanager::wire {
namespace {

using history::Position;

constexpr size_t kMostAtOnce = 500;

}  // namespace

std::vector<v1::ControlEvent> EventStream::Next(Duration patience) {
  at_end_ = false;
  if (!cursor_) cursor_ = events_.CursorAfter(history::ToProto(last_));
  return cursor_ ? FromMemory(patience) : FromHistory();
}

std::vector<v1::ControlEvent> EventStream::FromMemory(Duration patience) {
  std::vector<v1::ControlEvent> events = events_.Read(&*cursor_, patience);
  at_end_ = events.empty();
  if (at_end_) return events;
  const Position first = history::ToPosition(events.front().position());
  if (last_.epoch != 0 && first.epoch == last_.epoch && first.sequence > last_.sequence + 1) {
    cursor_.reset();  // some were forgotten meanwhile
    return {};
  }
  last_ = std::max(last_, history::LastPosition(events.back()));
  return events;
}

std::vector<v1::ControlEvent> EventStream::FromHistory() {
  if (history_ == nullptr) return SkipToMemory();
  if (!std::exchange(looked_at_deleted_, true)) {
    const Position deleted = history_->DeletedTo();
    if (last_.epoch != 0 && deleted > last_) {
      return Lost(last_, absl::StrCat("of the events after ", last_.ToString(), " and up to ",
                                      deleted.ToString(),
                                      ", some are not kept any more; those that are follow"));
    }
  }
  auto events = history_->After(last_, kMostAtOnce);
  if (!events.ok() || events->empty()) return SkipToMemory();
  last_ = std::max(last_, history::LastPosition(events->back()));
  return *std::move(events);
}

// The history has no more: what is in memory comes next, be there a gap or not.
std::vector<v1::ControlEvent> EventStream::SkipToMemory() {
  const auto [cursor, oldest] = events_.OldestOfEpoch();
  cursor_ = cursor;
  const Position before{oldest.leader_epoch(), oldest.sequence() - 1};
  const bool is_earlier = last_.epoch != 0 && last_.epoch < before.epoch;
  if (is_earlier && history_ == nullptr) {
    return Lost(before, absl::StrCat("what happened after ", last_.ToString(),
                                     " under earlier leaders is not known here, as this process "
                                     "keeps no history"));
  }
  if (before <= last_ || before.sequence == 0) return {};
  return Lost(before, absl::StrCat("the events after ", last_.ToString(), " and up to ",
                                   before.ToString(), " are not known any more"));
}

std::vector<v1::ControlEvent> EventStream::Lost(Position up_to, const std::string& why) {
  last_ = std::max(last_, up_to);
  v1::ControlEvent event;
  event.set_kind(std::string(history::kLostKind));
  event.set_time_ms(WallMilliseconds());
  event.set_message(why);
  *event.mutable_position() = history::ToProto(last_);
  return {std::move(event)};
}

}  // namespace shardmanager::wire
