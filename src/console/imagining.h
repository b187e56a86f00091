// What-if questions of the console: played in this process, so they are bounded (decision 0054).
#pragma once

#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "console/source.h"
#include "shardmanager/v1/what_if.pb.h"

namespace shardmanager::console {

// Thread-safe; plays on the caller's thread, one question at a time.
class Imagining {
 public:
  // Replicas of an app that is not too large to be played here.
  static constexpr size_t kMostReplicas = 5'000;

  // `source` must outlive this.
  explicit Imagining(Source& source) : source_(source) {}

  // Errors: as of whatif::Simulate; RESOURCE_EXHAUSTED: another question is being played, or the
  // app is too large.
  absl::StatusOr<v1::WhatIfReport> Ask(const std::string& app, const v1::ImaginedChange& change,
                                       int64_t now_ms);

 private:
  absl::StatusOr<v1::AppSnapshot> Take(const std::string& app, int64_t now_ms);

  Source& source_;
  std::mutex mutex_;
};

}  // namespace shardmanager::console
