#include "orchestrator/shell/event_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "runtime/clock.h"

namespace shardmanager::orchestrator {

void EventLog::Append(v1::ControlEvent event) {
  event.set_time_ms(WallMilliseconds());
  {
    std::lock_guard lock(mutex_);
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

void EventLog::RecordChange(const std::string& app, const std::string& what,
                            const std::string& by) {
  v1::ControlEvent event;
  event.set_kind("AdminChange");
  event.set_app(app);
  event.set_message(what);
  event.set_by(by);
  spdlog::info("{} {}{}by {}: {}", event.kind(), app, app.empty() ? "" : " ", by, what);
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
