#include "runtime/clock.h"

#include <ctime>

namespace shardmanager {
namespace {

int64_t Microseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1'000;
}

}  // namespace

TimePoint MonotonicNow() { return TimePoint(Duration(Microseconds(CLOCK_BOOTTIME))); }

int64_t WallMilliseconds() { return Microseconds(CLOCK_REALTIME) / 1'000; }

}  // namespace shardmanager
