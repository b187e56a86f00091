#include "coordination/zookeeper/zookeeper_log.h"

#include <mutex>
#include <string_view>

#include "runtime/clock.h"
#include "runtime/logging.h"

namespace shardmanager {
namespace {

constexpr int kLinesPerSecond = 5;

struct ClientLog {
  std::mutex mutex;
  std::string latest;
  TimePoint window_start;
  int lines_in_window = 0;
  int64_t suppressed = 0;
};

ClientLog& TheLog() {
  static ClientLog* log = new ClientLog;  // never destroyed: C client threads may outlive main
  return *log;
}

// "2024-01-01 12:00:00,000:17(0x7f):ZOO_ERROR@function@123: text" -> "text".
std::string_view Text(std::string_view line) {
  const size_t level = line.find(":ZOO_");
  if (level == std::string_view::npos) return line;
  const size_t colon = line.find(": ", level + 1);
  return colon == std::string_view::npos ? line : line.substr(colon + 2);
}

bool MayLog(ClientLog& log, TimePoint now) {
  if (now - log.window_start >= Seconds(1)) {
    log.window_start = now;
    log.lines_in_window = 0;
  }
  return ++log.lines_in_window <= kLinesPerSecond;
}

}  // namespace

void OnZookeeperLog(const char* message) {
  const std::string_view text = Text(message);
  ClientLog& log = TheLog();
  int64_t suppressed = 0;
  {
    std::lock_guard lock(log.mutex);
    // This one follows every round of attempts and would hide why they failed.
    if (text.substr(0, 19) != "Delaying connection") log.latest = text;
    if (!MayLog(log, MonotonicNow())) {
      ++log.suppressed;
      return;
    }
    std::swap(suppressed, log.suppressed);
  }
  LogDebug("zookeeper client: {} ({} lines left out before)", text, suppressed);
}

std::string LatestZookeeperComplaint() {
  ClientLog& log = TheLog();
  std::lock_guard lock(log.mutex);
  return log.latest;
}

}  // namespace shardmanager
