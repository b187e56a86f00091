// `kv load`: puts and gets at a steady rate for some seconds, all of them checked.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client.h"
#include "latencies.h"

namespace kvstore {

struct LoadOptions {
  int seconds = 10;
  double calls_per_s = 500;  // of all clients together; 0: each calls as soon as it is answered
  int clients = 8;           // threads
  int keys = 1'000;          // at least one for each client
  int gets_percent = 50;     // the others are puts
  int value_bytes = 100;
  std::string name = "load";  // part of all keys
};

struct LoadReport {
  struct Failure {
    uint64_t calls = 0;
    std::string first;  // the message of one of them
  };

  uint64_t puts = 0;  // that succeeded
  uint64_t gets = 0;
  uint64_t lost = 0;      // gets that did not find what an acknowledged put had stored
  std::string lost_key;   // one of them
  uint64_t not_made = 0;  // all clients were still waiting for an answer when it was due
  std::map<absl::StatusCode, Failure> failures;
  Latencies latencies;  // of all calls, from when they were due
  double seconds = 0;

  uint64_t failed() const;
  uint64_t calls() const { return puts + gets + failed(); }
  bool good() const { return failed() == 0 && lost == 0; }
  void Add(const LoadReport& other);  // but for `seconds`
};

// Keys that all shards have an equal part of. NOT_FOUND: the app has no shards.
absl::StatusOr<std::vector<std::string>> LoadKeys(
    const std::vector<shardmanager::ShardPlace>& shards, const LoadOptions& options);

// Each client has keys of its own, puts numbers that grow, and so knows what a get must bring. Two
// loads at the same time need different names.
class Load {
 public:
  // Begins. `client` must outlive the load.
  Load(Client& client, std::vector<std::string> keys, LoadOptions options);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // True: it is over. False: `patience` is.
  bool WaitFor(std::chrono::milliseconds patience);
  // No further calls begin. May be called by a signal handler.
  void Stop() { stopped_ = true; }

  // So far.
  uint64_t calls() const { return calls_; }
  uint64_t failed() const { return failed_; }
  // The longest call since this was last asked.
  std::chrono::microseconds TakeLongest();

  // REQUIRES: it is over.
  LoadReport Report() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Key {
    std::string key;
    uint64_t put = 0;           // the last number that was put
    uint64_t acknowledged = 0;  // the last one whose put succeeded
  };

  void Run(LoadReport& report, std::vector<Key> keys, uint32_t seed);
  // When the next call is due; nothing: there is none.
  std::optional<Clock::time_point> NextDue();
  // False: the load was stopped.
  bool AwaitDue(Clock::time_point due);
  void Put(Key& key, LoadReport& report);
  void Get(const Key& key, LoadReport& report);
  void Fail(const absl::Status& status, LoadReport& report);

  Client& client_;
  const LoadOptions options_;
  const Clock::time_point begin_ = Clock::now();
  const Clock::time_point end_;
  const std::string padding_;
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> next_{0}, calls_{0}, failed_{0};
  std::atomic<int64_t> longest_us_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_;
  Clock::time_point over_at_;         // when the last client ended
  std::vector<LoadReport> reports_;   // of each client; its own until it has ended
  std::vector<std::thread> threads_;  // the first to go
};

}  // namespace kvstore
