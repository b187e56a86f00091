// The clients of the quickstart: they write words, then read them all back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "shardmanager/router.h"

namespace grpc {
class Status;
}

namespace quickstart {

// The lines of the file, shuffled (always in the same way), so that the clients
// walk all over the key space.
absl::StatusOr<std::vector<std::string>> ReadWords(const std::string& file);

struct Progress {
  size_t done = 0;
  size_t failed = 0;  // writes without an acknowledgement, reads without an answer
  size_t lost = 0;    // reads that did not find what had been acknowledged
  std::chrono::microseconds longest{0};  // call, with all its retries
};

// One pass over all words by several threads at once. The destructor waits for
// calls under way and leaves out the rest.
class WordLoad {
 public:
  // Thread-safe. False: it failed. `lost` is set when it shows a lost write.
  using Work = std::function<bool(size_t word, bool* lost)>;

  // `pace`: words are due evenly over this time; zero: as fast as it goes.
  WordLoad(size_t words, int threads, std::chrono::milliseconds pace, Work work);
  ~WordLoad();

  Progress progress() const;
  bool finished() const { return done_ + failed_ == words_; }

 private:
  void Run();
  void DoOne(size_t word);

  const size_t words_;
  const std::chrono::nanoseconds interval_;
  const Work work_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<size_t> next_{0}, done_{0}, failed_{0}, lost_{0};
  std::atomic<int64_t> longest_us_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

// The words as keys of the application "kv".
class WordStore {
 public:
  WordStore(shardmanager::Router& router, const std::vector<std::string>& words)
      : router_(router), words_(words), acknowledged_(words.size()) {}

  bool Write(size_t word);
  // Compares with what Write() had acknowledged for this word.
  bool Read(size_t word, bool* lost);

  // Why the first call failed, if one did.
  std::string first_error() const;

 private:
  bool Note(const grpc::Status& status, size_t word);
  std::string Value(size_t word) const;

  shardmanager::Router& router_;
  const std::vector<std::string>& words_;
  std::vector<std::atomic<bool>> acknowledged_;
  mutable std::mutex mutex_;
  std::string first_error_;
};

}  // namespace quickstart
