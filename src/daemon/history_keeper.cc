#include "daemon/history_keeper.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/time.h"
#include "runtime/clock.h"

namespace shardmanager::daemon {
namespace {

constexpr Duration kShowAgain = Seconds(1);

history::History::Options OptionsFor(const HistoryFlags& flags, const std::string& folder,
                                     const std::string& cell, orchestrator::EventLog& events) {
  history::History::Options options;
  options.folder = folder;
  options.cell = cell;
  options.bounds.most_bytes = uint64_t{flags.most_mb} << 20;
  options.bounds.most_age_ms = int64_t{flags.most_days} * 24 * 3'600 * 1'000;
  options.wall_ms = WallMilliseconds;
  options.tell = [&events](const char* kind, const std::string& message) {
    events.Record(kind, message, /*trouble=*/std::string_view(kind) != "HistoryResumed");
  };
  return options;
}

}  // namespace

std::string FolderOf(const HistoryFlags& flags, const std::string& data_dir) {
  if (flags.folder == "off") return "";
  if (!flags.folder.empty()) return flags.folder;
  const char* state = std::getenv("STATE_DIRECTORY");
  // systemd names several with colons between them.
  const std::string first =
      state == nullptr ? "" : std::vector<std::string>(absl::StrSplit(state, ':')).front();
  const std::string& beside = first.empty() ? data_dir : first;
  return beside.empty() ? "" : (std::filesystem::path(beside) / "history").string();
}

HistoryKeeper::HistoryKeeper(const HistoryFlags& flags, const std::string& folder,
                             const std::string& cell, orchestrator::EventLog& events,
                             Metrics& metrics, std::shared_ptr<const wire::Transport> transport)
    : events_(events),
      history_(OptionsFor(flags, folder, cell, events)),
      follower_(std::move(transport), history_),
      bytes_(metrics.AddGauge("shardmanager_history_bytes", "Of this process's history file.")),
      rows_(metrics.AddGauge("shardmanager_history_rows",
                             "Of this process's history; equal events share one.")),
      waiting_(metrics.AddGauge("shardmanager_history_events_waiting",
                                "Events that are not written to the history yet.")),
      problem_(metrics.AddGauge("shardmanager_history_problem",
                                "1: no events are kept now (the log says why).")),
      thread_([this](const std::stop_token& stop) { Follow(stop); }) {}

HistoryKeeper::~HistoryKeeper() { history_.Hurry(); }

void HistoryKeeper::Follow(const std::stop_token& stop) {
  uint64_t cursor = 0;
  TimePoint show_at{};
  for (bool last = false; !last;) {
    last = stop.stop_requested();  // the events of the stop itself are kept, too
    std::vector<v1::ControlEvent> events =
        events_.Read(&cursor, last ? Duration(0) : Milliseconds(200));
    if (!events.empty()) history_.Add(std::move(events), history::Source::kSelf);
    if (MonotonicNow() < show_at) continue;
    show_at = MonotonicNow() + kShowAgain;
    const history::History::Stats stats = history_.stats();
    bytes_.Set(static_cast<double>(stats.bytes));
    rows_.Set(static_cast<double>(stats.rows));
    waiting_.Set(static_cast<double>(stats.waiting));
    problem_.Set(stats.has_problem ? 1 : 0);
  }
}

}  // namespace shardmanager::daemon
