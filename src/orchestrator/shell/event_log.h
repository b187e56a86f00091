// What the control plane did and why, for `shardctl watch`, and the newest figures of each app, for
// metrics.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "orchestrator/state/load/skew.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// A change that somebody asked for, as an event has it.
struct AskedChange {
  std::string app = {};  // "": it is of no app
  std::string server = {};
  std::string shard = {};
  std::string operation = {};
  std::string what = {};
  std::string by = {};
  std::vector<std::string> changes = {};  // ControlEvent.changes
};

// The last events of one process, in order, in bounded memory. Thread-safe.
class EventLog {
 public:
  explicit EventLog(size_t capacity = 10'000) : capacity_(capacity) {}

  // This process leads from now on, in this epoch: positions of events count in it, from 1.
  void BeginEpoch(uint64_t leader_epoch);

  // Stamps it with its position and the time of now.
  void Append(v1::ControlEvent event);

  // Appends an event that is of no app, and logs it: as a warning if it is `trouble`.
  void Record(const char* kind, const std::string& message, bool trouble = false);
  // The same of a change that somebody asked for.
  void RecordChange(AskedChange change);

  // Events from `*cursor` on (0: the oldest kept); moves the cursor past them. Waits up to
  // `patience` for the first one. Some are skipped that were forgotten meanwhile: then the position
  // of the first is not the next one.
  std::vector<v1::ControlEvent> Read(uint64_t* cursor, Duration patience);
  // Where to Read() all events of the cell after this position; nullopt: not all of them are known
  // here.
  std::optional<uint64_t> CursorAfter(const v1::EventPosition& position) const;
  // The first event of the epoch in which positions count now, of those that are remembered: where
  // to Read() it, and its position; or of the next event, if there is none.
  std::pair<uint64_t, v1::EventPosition> OldestOfEpoch() const;
  // Of the newest event; of leader epoch 0: this process has not led yet.
  v1::EventPosition last() const;
  // Something is known of that app.
  bool Knows(const std::string& app) const;

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
  uint64_t first_ = 0;                             // the cursor of events_.front()
  v1::EventPosition last_;                         // of the newest one
  std::map<std::string, TrafficFigures> figures_;  // by app
};

}  // namespace shardmanager::orchestrator
