// Open-loop clients of the counter example: calls are due at fixed times, whatever became
// of those before, so that a wait is not hidden by the client's own waiting.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "shardmanager/router.h"

namespace shardmanager {

// Each client counts one key, so it knows what the next answer must be: one more than the
// last. Less: a request was lost. More: one was processed twice.
//
// A client whose call takes longer than its own interval is late for the next one; what that
// one takes counts from when it was due.
class SteadyLoad {
 public:
  struct Options {
    std::string discovery;
    Security security = {};   // as in RouterOptions
    int calls_per_s = 1'000;  // of all clients together
    int clients = 20;         // that take turns
  };
  struct Call {
    TimePoint due;
    Duration took{};  // since it was due
  };
  struct Totals {
    std::vector<Call> calls;  // ascending by due
    uint64_t failed = 0;      // calls that ended with an error
    uint64_t retried = 0;     // attempts that had to be repeated
    uint64_t wrong = 0;       // answers that are not the next number
    uint64_t backward = 0;    // answers with an epoch below the one before
  };

  explicit SteadyLoad(Options options);
  ~SteadyLoad();
  SteadyLoad(const SteadyLoad&) = delete;
  SteadyLoad& operator=(const SteadyLoad&) = delete;

  // Ends it; all that there was.
  Totals Stop();

 private:
  void Run(int number, Totals& totals);

  const Options options_;
  Router router_;
  const TimePoint begin_;
  std::atomic<bool> stop_{false};
  std::vector<Totals> totals_;  // of each client; its own until it has ended
  std::vector<std::thread> clients_;
};

}  // namespace shardmanager
