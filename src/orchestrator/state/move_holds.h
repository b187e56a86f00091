// Shards that are not moved for a while, or not to a certain server, as their last planned move
// could not be carried out; and pairs of servers between which nothing is moved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// A move that fails costs requests, or holds them up: the pause doubles with each failure, until
// a move of the shard succeeds. Failures because of a server and others are counted apart: where
// it could not be added says nothing about how long its requests take.
class MoveHolds {
 public:
  static constexpr Duration kFirst = Seconds(60);
  static constexpr int kMostDoublings = 5;  // 32 minutes

  // The shard's move has failed, because of the server `avoid` (invalid: wherever it might go).
  // How long it is not tried again.
  Duration Hold(ShardIndex shard, ServerIndex avoid, TimePoint now) {
    Entry& entry = entries_[shard];
    entry.avoid = avoid;
    uint8_t& failures = avoid.valid() ? entry.failures_there : entry.failures;
    const Duration pause = NextPause(failures);
    entry.until = now + pause;
    return pause;
  }
  // Its requests have ended in time: those that took too long are not counted any more.
  void LetGo(ShardIndex shard) {
    const auto found = entries_.find(shard);
    if (found == entries_.end()) return;
    found->second.failures = 0;
    if (!found->second.avoid.valid()) found->second.until = TimePoint{};
  }
  void Forget(ShardIndex shard) {
    if (!entries_.empty()) entries_.erase(shard);
  }
  struct Entry {
    TimePoint until{};
    ServerIndex avoid;
    uint8_t failures = 0;        // in a row, wherever it might go
    uint8_t failures_there = 0;  // in a row, each because of some server
  };
  // Null: it may go anywhere.
  const Entry* Find(ShardIndex shard, TimePoint now) const {
    const auto found = entries_.find(shard);
    return found == entries_.end() || now >= found->second.until ? nullptr : &found->second;
  }

  // A move to `to` failed, as the shard's primary at `from` could not bring the new secondary into
  // step. Most often these two cannot reach each other: for the time that is returned nothing is
  // moved to `to` of which `from` has the primary. The pause doubles as that of a shard does; what
  // fails within it began before it, and does not count.
  Duration HoldPair(ServerIndex from, ServerIndex to, TimePoint now) {
    Pair& pair = pairs_[{from, to}];
    if (now < pair.until) return pair.until - now;
    const Duration pause = NextPause(pair.failures);
    pair.until = now + pause;
    return pause;
  }
  // A primary at `from` has brought a secondary at `to` into step.
  void PairWorks(ServerIndex from, ServerIndex to) {
    if (!pairs_.empty()) pairs_.erase({from, to});
  }
  // A new process may be reached, whoever could not reach the old one.
  void Restarted(ServerIndex server) {
    absl::erase_if(pairs_, [&](const auto& entry) {
      return entry.first.first == server || entry.first.second == server;
    });
  }
  bool AnyPair() const { return !pairs_.empty(); }
  struct HeldPair {
    ServerIndex to;
    TimePoint until;
  };
  // To which servers nothing is moved of which `from` has the primary, ascending.
  std::vector<HeldPair> HeldFrom(ServerIndex from, TimePoint now) const {
    std::vector<HeldPair> held;
    for (const auto& [servers, pair] : pairs_) {
      if (servers.first == from && now < pair.until) held.push_back({servers.second, pair.until});
    }
    std::sort(held.begin(), held.end(),
              [](const HeldPair& a, const HeldPair& b) { return a.to < b.to; });
    return held;
  }

 private:
  // Counts one more failure, of those in a row.
  static Duration NextPause(uint8_t& failures) {
    const Duration pause = kFirst * (1 << std::min<int>(failures, kMostDoublings));
    if (failures < UINT8_MAX) ++failures;
    return pause;
  }
  struct Pair {
    TimePoint until{};
    uint8_t failures = 0;  // in a row, each after a pause
  };
  absl::flat_hash_map<ShardIndex, Entry> entries_;
  absl::flat_hash_map<std::pair<ServerIndex, ServerIndex>, Pair> pairs_;
};

}  // namespace shardmanager::orchestrator
