// How a server does, as this client sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/server_view.h"

namespace shardmanager::router {

// What an attempt tells of its server.
enum class Impression {
  kGood,  // it answered
  kBad,   // it did not, or with an error that is the server's own
  kSlow,  // another replica that was asked later answered first
  kNone,  // nothing: it refused, as it does while shards move, or the attempt was given up
};

// Thread-safe, without locks. Requests that end at the same moment may lose one another's
// share of an average; the next ones make up for it.
class ServerHealth {
 public:
  // A request is sent.
  void OnSend() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  // It ended, `took` after it was sent. `problem`: of a bad one; nothing, if what it met says only
  // that the server has too much to do.
  void OnEnd(Impression impression, Duration took, std::optional<Problem> problem = std::nullopt);
  // No request could be sent: there is no connection.
  void OnUnsent() { Note(Impression::kBad, Problem::kNoConnection); }

  // More than half of its last requests went wrong: six in a row are enough, a few among many are
  // not. Three in a row that go well end it.
  bool in_trouble() const { return in_trouble_.load(std::memory_order_relaxed); }
  // Requests under way, of this client.
  uint32_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  // What an answer takes of late, smoothed; what did not come takes at least as long as it was
  // waited for. Zero: nothing is known yet.
  Duration latency() const { return Duration(latency_us_.load(std::memory_order_relaxed)); }

  // What the last bad one met, as above.
  std::optional<Problem> problem() const { return problem_.load(std::memory_order_relaxed); }
  // When requests last went well, and when they went badly: as precisely as this is asked. For one
  // thread.
  struct Use {
    std::optional<TimePoint> well;
    std::optional<TimePoint> badly;
  };
  Use LookForUse(TimePoint now);

  // Whether it understands requests with one header (request_metadata::kTo), as far as its answers
  // say. A server that is replaced by an older one says so by a refusal.
  bool knows_to() const { return knows_to_.load(std::memory_order_relaxed); }
  void SetKnowsTo(bool yes) { knows_to_.store(yes, std::memory_order_relaxed); }

  // True for one caller a second: it may send a request there to see how the server does now,
  // although others do better.
  bool TakeProbe(TimePoint now);

 private:
  void Note(Impression impression, std::optional<Problem> problem);
  void NoteLatency(Impression impression, Duration took);

  // Of the last requests, the newer the heavier: kOne is all.
  std::atomic<uint32_t> bad_share_{0};
  std::atomic<bool> in_trouble_{false};
  std::atomic<uint32_t> in_flight_{0};
  std::atomic<int64_t> latency_us_{0};
  std::atomic<int64_t> next_probe_us_{0};
  std::atomic<bool> knows_to_{false};
  std::atomic<std::optional<Problem>> problem_{std::nullopt};
  // Since the last look.
  std::atomic<bool> used_well_{false};
  std::atomic<bool> used_badly_{false};
  Use use_;
};

}  // namespace shardmanager::router
