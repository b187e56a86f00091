// How long something takes: by the clock on the wall, and of this process's processor time.
#pragma once

#include <chrono>
#include <ctime>

namespace shardmanager {

class Stopwatch {
 public:
  Stopwatch() : begin_(std::chrono::steady_clock::now()), cpu_begin_(ProcessorSeconds()) {}

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  // Of all threads of the process.
  double cpu_seconds() const { return ProcessorSeconds() - cpu_begin_; }

 private:
  static double ProcessorSeconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  std::chrono::steady_clock::time_point begin_;
  double cpu_begin_;
};

}  // namespace shardmanager
