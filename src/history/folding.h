// Which events of a storm are kept as one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "history/position.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::history {

// Changes that people asked for: never folded, and the last to be deleted.
inline constexpr std::string_view kChangeKind = "AdminChange";
// One that was refused.
inline constexpr std::string_view kDeniedKind = "ChangeDenied";
// Some events are not known: the message says which.
inline constexpr std::string_view kLostKind = "EventsLost";

// Events of one kind and of the same app, server, shard, operation and author that follow each
// other closely: the first few are kept one by one, those after them in one row, which counts them
// and has the text of the newest. A new row is begun when they pause, and once an hour. What
// follows depends on the events alone, so that processes that hear the same fold alike.
class Folding {
 public:
  static constexpr uint32_t kOneByOne = 3;
  static constexpr int64_t kPauseMs = 10 * 60'000;
  static constexpr int64_t kLongestMs = 60 * 60'000;
  static constexpr size_t kMostRuns = 50'000;

  // The row that this event belongs into; nullopt: into one of its own.
  std::optional<Position> RowFor(const v1::ControlEvent& event);
  // This row was read, or heard, as it is: events after it go on with it.
  void Heard(const v1::ControlEvent& row);
  void Clear() { runs_.clear(); }

 private:
  struct Run {
    uint32_t rows = 0;
    Position row;          // the newest
    int64_t begun_ms = 0;  // that row
    int64_t last_ms = 0;
  };
  Run& RunOf(const v1::ControlEvent& event);

  std::unordered_map<std::string, Run> runs_;
};

}  // namespace shardmanager::history
