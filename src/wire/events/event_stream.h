// The events that one caller of WatchEvents is told, one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "history/history.h"
#include "history/position.h"
#include "orchestrator/shell/event_log.h"

namespace shardmanager::wire {

// From memory, as they happen. Those that are not in memory any more, or were of earlier leaders,
// come from the history; what is not there either is told as an event EventsLost. Not thread-safe.
class EventStream {
 public:
  // Both must outlive it. `history`: null, none is kept. `after`: with leader epoch 0, begins with
  // the oldest in memory.
  EventStream(orchestrator::EventLog& events, history::History* history, history::Position after)
      : events_(events), history_(history), last_(after) {
    if (after.epoch == 0) cursor_ = 0;
  }
  // Begins with the oldest of the history.
  void FromTheBeginning() { cursor_.reset(); }

  // Waits up to `patience` for the next ones.
  std::vector<v1::ControlEvent> Next(Duration patience);
  // The last Next() had told all that there was.
  bool at_end() const { return at_end_; }

 private:
  std::vector<v1::ControlEvent> FromMemory(Duration patience);
  std::vector<v1::ControlEvent> FromHistory();
  std::vector<v1::ControlEvent> SkipToMemory();
  std::vector<v1::ControlEvent> Lost(history::Position up_to, const std::string& why);

  orchestrator::EventLog& events_;
  history::History* const history_;
  history::Position last_;          // of what was told
  std::optional<uint64_t> cursor_;  // in memory; nullopt: what comes next is not there
  bool at_end_ = false;
  bool looked_at_deleted_ = false;
};

}  // namespace shardmanager::wire
