#include "history/folding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::history {
namespace {

bool IsFolded(const v1::ControlEvent& event) {
  return event.kind() != kChangeKind && event.kind() != kLostKind;
}

std::string KeyOf(const v1::ControlEvent& event) {
  const std::string_view zero("\0", 1);
  const absl::string_view end(zero.data(), zero.size());
  return absl::StrCat(event.app(), end, event.kind(), end, event.server(), end, event.shard(), end,
                      event.operation(), end, event.by());
}

}  // namespace

std::optional<Position> Folding::RowFor(const v1::ControlEvent& event) {
  if (!IsFolded(event)) return std::nullopt;
  Run& run = RunOf(event);
  const int64_t now = event.time_ms();
  const Position own = ToPosition(event.position());
  const bool goes_on = run.rows > 0 && now - run.last_ms < kPauseMs && own.epoch == run.row.epoch;
  run.last_ms = std::max(run.last_ms, now);
  if (goes_on && run.rows > kOneByOne && now - run.begun_ms < kLongestMs) return run.row;
  run.rows = goes_on ? std::min(run.rows, kOneByOne) + 1 : 1;
  run.row = own;
  run.begun_ms = now;
  return std::nullopt;
}

void Folding::Heard(const v1::ControlEvent& row) {
  if (!IsFolded(row)) return;
  Run& run = RunOf(row);
  run.rows = kOneByOne + 1;
  run.row = ToPosition(row.position());
  run.begun_ms = row.time_ms();
  run.last_ms = row.last_ms();
}

// Too many at once: they begin anew.
Folding::Run& Folding::RunOf(const v1::ControlEvent& event) {
  if (runs_.size() >= kMostRuns) runs_.clear();
  return runs_[KeyOf(event)];
}

}  // namespace shardmanager::history
