#include "orchestrator/shell/event_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "runtime/clock.h"

namespace shardmanager::orchestrator {

void EventLog::BeginEpoch(uint64_t leader_epoch) {
  std::lock_guard lock(mutex_);
  last_.set_leader_epoch(leader_epoch);
  last_.set_sequence(0);
}

void EventLog::Append(v1::ControlEvent event) {
  event.set_time_ms(WallMilliseconds());
  {
    std::lock_guard lock(mutex_);
    last_.set_sequence(last_.sequence() + 1);
    *event.mutable_position() = last_;
    events_.push_back(std::move(event));
    if (events_.size() > capacity_) {
      events_.pop_front();
      ++first_;
    }
  }
  more_.notify_all();
}

void EventLog::Record(const char* kind, const std::string& message, bool trouble) {
  spdlog::log(trouble ? spdlog::level::warn : spdlog::level::info, "{} {}", kind, message);
  v1::ControlEvent event;
  event.set_kind(kind);
  event.set_message(message);
  Append(std::move(event));
}

void EventLog::RecordChange(AskedChange change) {
  v1::ControlEvent event;
  event.set_kind("AdminChange");
  spdlog::info("{} {}{}by {}, operation={}: {}", event.kind(), change.app,
               change.app.empty() ? "" : " ", change.by, absl::CEscape(change.operation),
               change.what);
  event.set_app(std::move(change.app));
  event.set_server(std::move(change.server));
  event.set_shard(std::move(change.shard));
  event.set_operation(std::move(change.operation));
  event.set_message(std::move(change.what));
  event.set_by(std::move(change.by));
  event.mutable_changes()->Assign(change.changes.begin(), change.changes.end());
  Append(std::move(event));
}

std::vector<v1::ControlEvent> EventLog::Read(uint64_t* cursor, Duration patience) {
  std::unique_lock lock(mutex_);
  more_.wait_for(lock, patience, [&] { return first_ + events_.size() > *cursor; });
  const uint64_t begin = std::max(*cursor, first_);
  *cursor = std::max(*cursor, first_ + events_.size());
  if (begin >= *cursor) return {};
  return {events_.begin() + static_cast<std::ptrdiff_t>(begin - first_), events_.end()};
}

std::optional<uint64_t> EventLog::CursorAfter(const v1::EventPosition& position) const {
  std::lock_guard lock(mutex_);
  if (position.leader_epoch() == 0 || position.leader_epoch() != last_.leader_epoch()) {
    return std::nullopt;
  }
  const uint64_t end = first_ + events_.size();
  const uint64_t newer = last_.sequence() - std::min(last_.sequence(), position.sequence());
  if (newer > events_.size()) return std::nullopt;
  return end - newer;
}

std::pair<uint64_t, v1::EventPosition> EventLog::OldestOfEpoch() const {
  std::lock_guard lock(mutex_);
  const uint64_t kept = std::min<uint64_t>(events_.size(), last_.sequence());
  v1::EventPosition oldest = last_;
  oldest.set_sequence(last_.sequence() - kept + 1);
  return {first_ + events_.size() - kept, oldest};
}

v1::EventPosition EventLog::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

bool EventLog::Knows(const std::string& app) const {
  std::lock_guard lock(mutex_);
  return std::any_of(events_.begin(), events_.end(),
                     [&](const v1::ControlEvent& event) { return event.app() == app; });
}

void EventLog::Show(const std::string& app, const TrafficFigures& figures) {
  std::lock_guard lock(mutex_);
  figures_[app] = figures;
}

void EventLog::Hide(const std::string& app) {
  std::lock_guard lock(mutex_);
  figures_.erase(app);
}

std::map<std::string, TrafficFigures> EventLog::Shown() const {
  std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace shardmanager::orchestrator
