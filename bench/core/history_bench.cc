// What it costs to keep a history: of one event to who decides, and of many to the disk.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "history/history.h"
#include "orchestrator/shell/event_log.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEvents = 300'000;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double CpuSeconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A move of each of very many shards: nothing can be folded.
v1::ControlEvent Move(int i) {
  v1::ControlEvent event;
  event.set_kind("MoveStarted");
  event.set_app("kv");
  event.set_server("kv-" + std::to_string(i % 1'000));
  event.set_shard("shard-" + std::to_string(i));
  event.set_message("from kv-7: balance over all servers");
  return event;
}

int Run() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("history_bench." + std::to_string(getpid()));
  orchestrator::EventLog events(kEvents);
  events.BeginEpoch(1);
  std::vector<v1::ControlEvent> made;
  made.reserve(kEvents);
  for (int i = 0; i < kEvents; ++i) made.push_back(Move(i));
  const auto appending = Clock::now();
  for (v1::ControlEvent& event : made) events.Append(std::move(event));
  std::printf("FIGURE history_append_us %.2f us\n", SecondsSince(appending) / kEvents * 1e6);
  {
    history::History history({.folder = folder.string(),
                              .cell = "bench",
                              .wall_ms = WallMilliseconds,
                              .tell = [](const char*, const std::string&) {}});
    history.Flush();
    uint64_t cursor = 0;
    const auto writing = Clock::now();
    const double cpu = CpuSeconds();
    history.Add(events.Read(&cursor, Duration(0)), history::Source::kSelf);
    history.Flush();
    const double took = SecondsSince(writing);
    std::printf("FIGURE history_events_per_s %.0f 1/s\n", kEvents / took);
    std::printf("FIGURE history_cpu_us_per_event %.1f us\n", (CpuSeconds() - cpu) / kEvents * 1e6);
    std::printf("FIGURE history_bytes_per_event %.0f bytes\n",
                static_cast<double>(history.stats().bytes) / kEvents);
    v1::GetHistoryRequest query;
    query.set_app("kv");
    query.set_shard("shard-4711");
    const auto asking = Clock::now();
    const auto answer = history.Read(query);
    std::printf("FIGURE history_shard_query_ms %.2f ms\n", SecondsSince(asking) * 1e3);
    if (!answer.ok() || answer->events_size() != 1) return 1;
    query.clear_shard();
    query.set_limit(100);
    const auto asking_app = Clock::now();
    const auto of_app = history.Read(query);
    std::printf("FIGURE history_app_query_ms %.2f ms\n", SecondsSince(asking_app) * 1e3);
    if (!of_app.ok() || of_app->events_size() != 100) return 1;
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace shardmanager

int main() { return shardmanager::Run(); }
