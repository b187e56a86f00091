// "Please stop", from the operating system or from ourselves, as an event.
#pragma once

#include <chrono>
#include <optional>

namespace shardmanager {

// While one exists, the first SIGTERM or SIGINT is remembered here and ends
// nothing by itself; a second one of the same kind ends the process at once, so
// that a shutdown that hangs can still be interrupted. REQUIRES: at most one per
// process at any time.
class StopSignals {
 public:
  StopSignals();
  // Puts the former handlers back.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Blocks until a signal came or RequestStop() was called, also if that was
  // before. Returns the signal, or 0 for RequestStop(). Thread-safe.
  int Wait();
  // The same, with a bound; nothing when the time is over first.
  std::optional<int> WaitFor(std::chrono::milliseconds timeout);

  // From any thread.
  void RequestStop();
};

}  // namespace shardmanager
