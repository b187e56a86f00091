// Whether shard-discoveryd lives and is ready, for those who start and watch it (/healthz,
// /readyz).
#pragma once

#include <cstdint>
#include <mutex>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "runtime/clock.h"
#include "runtime/metrics_server.h"

namespace shardmanager::daemon {

// Thread-safe.
class RelayHealth {
 public:
  struct Seen {
    size_t apps = 0;            // wanted from upstream
    size_t apps_connected = 0;  // those whose stream delivers now
    uint64_t updates = 0;       // that came since the process began
  };

  explicit RelayHealth(Duration most_silence = Seconds(30)) : most_silence_(most_silence) {}

  // Call it again and again, from the main loop, once it serves subscribers.
  void Look(Seen seen) {
    const std::lock_guard lock(mutex_);
    state_ = State::kServes;
    seen_ = seen;
    looked_at_ = MonotonicNow();
  }
  // The process stops: it lives and is not ready.
  void Stop() {
    const std::lock_guard lock(mutex_);
    state_ = State::kStops;
  }

  // For MetricsServer; this must outlive it.
  Health health() {
    return {.lives = [this] { return Lives(); }, .ready = [this] { return Ready(); }};
  }

  // OK unless the main loop has not come round for `most_silence`.
  absl::Status Lives() const {
    const std::lock_guard lock(mutex_);
    const Duration silent = MonotonicNow() - looked_at_;
    if (state_ != State::kServes || silent < most_silence_) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the main loop has not come round for ", silent / Seconds(1), " s"));
  }

  // OK: it serves subscribers, and has something to serve them or was not asked for anything yet.
  // One that has lost its upstream goes on with the last maps and stays ready; its subscribers are
  // told.
  absl::Status Ready() const {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kStarts) return absl::UnavailableError("starting");
    if (state_ == State::kStops) return absl::UnavailableError("stopping");
    if (seen_.apps == 0 || seen_.apps_connected > 0 || seen_.updates > 0) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("nothing was heard from upstream yet of ", seen_.apps, " apps"));
  }

 private:
  enum class State { kStarts, kServes, kStops };

  const Duration most_silence_;
  mutable std::mutex mutex_;
  State state_ = State::kStarts;
  Seen seen_;
  TimePoint looked_at_{};
};

}  // namespace shardmanager::daemon
