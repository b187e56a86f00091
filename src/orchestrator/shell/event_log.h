// What the control plane did and why, for `shardctl watch`, and the newest figures of each app, for
// metrics.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "orchestrator/state/load/skew.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// The last events of one process, in order, in bounded memory. Thread-safe.
class EventLog {
 public:
  explicit EventLog(size_t capacity = 10'000) : capacity_(capacity) {}

  // Stamps it with the time of now.
  void Append(v1::ControlEvent event);

  // Appends an event that is of no app, and logs it: as a warning if it is `trouble`.
  void Record(const char* kind, const std::string& message, bool trouble = false);
  // The same of a change that somebody, `by`, asked for; of this app, or "".
  void RecordChange(const std::string& app, const std::string& what, const std::string& by);

  // Events from position `*cursor` on (0: the oldest kept); moves the cursor past
  // them. Waits up to `patience` for the first one.
  std::vector<v1::ControlEvent> Read(uint64_t* cursor, Duration patience);

  // The app's figures are these from now on.
  void Show(const std::string& app, const TrafficFigures& figures);
  // They are not known here any more: another process leads, or the app is gone.
  void Hide(const std::string& app);
  std::map<std::string, TrafficFigures> Shown() const;

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::deque<v1::ControlEvent> events_;
  uint64_t first_ = 0;                             // position of events_.front()
  std::map<std::string, TrafficFigures> figures_;  // by app
};

}  // namespace shardmanager::orchestrator
