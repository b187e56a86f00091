// Shards that are not moved for a while, or not to a certain server, as their last planned move
// could not be carried out; and pairs of servers between which nothing is moved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/defect.h"
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
  // What could not be moved to so many servers may be at fault itself: for half of the pause it is
  // not moved at all. After that it goes where it has not failed.
  static constexpr size_t kMostServers = 3;
  static constexpr size_t kMostAvoided = 16;  // then the first one may have it again

  // The shard is to stay, as its requests take too long or it fails on all servers. How long it is
  // not moved anywhere.
  Duration Hold(ShardIndex shard, TimePoint now) {
    Entry& entry = entries_[shard];
    const Duration pause = NextPause(entry.failures);
    entry.until = now + pause;
    return pause;
  }
  // The shard's move has failed because of this server. How long it is moved neither there nor to
  // those on which it failed before; when such a pause is over, it may go to all of them again.
  // (What fails within the pause of the first failure is the same trouble, and makes the pause no
  // longer.)
  Duration HoldTo(ShardIndex shard, ServerIndex server, TimePoint now) {
    Entry& entry = entries_[shard];
    Servers& avoided = entry.avoided;
    if (now >= entry.avoid_until || Planted(Defect::kForgetsFailedMoves)) avoided.clear();
    if (now >= entry.round_until) {
      entry.pause = NextPause(entry.rounds);
      entry.round_until = now + entry.pause;
    }
    if (std::find(avoided.begin(), avoided.end(), server) == avoided.end()) {
      if (avoided.size() == kMostAvoided) avoided.erase(avoided.begin());
      avoided.push_back(server);
    }
    entry.avoid_until = now + entry.pause;
    if (avoided.size() >= kMostServers) entry.tried_until = now + entry.pause / 2;
    return entry.pause;
  }
  // Its requests have ended in time: those that took too long are not counted any more.
  void LetGo(ShardIndex shard) {
    const auto found = entries_.find(shard);
    if (found == entries_.end()) return;
    found->second.failures = 0;
    found->second.until = TimePoint{};
  }
  void Forget(ShardIndex shard) {
    if (!entries_.empty()) entries_.erase(shard);
  }
  // For how long a shard is not moved, or not to some servers.
  struct Entry {
    TimePoint until{};        // Hold(): it stays
    TimePoint tried_until{};  // HoldTo(), of many servers: it stays
    TimePoint avoid_until{};  // HoldTo(): it is not moved to `avoided`
    Servers avoided;          // by the time of the first failure there
    TimePoint round_until{};  // what fails later belongs to the next round
    Duration pause{};         // of this round
    uint8_t failures = 0;     // in a row, wherever it might go
    uint8_t rounds = 0;       // in a row, of failures because of servers
  };
  // Null: its moves have not failed.
  const Entry* Find(ShardIndex shard) const {
    const auto found = entries_.find(shard);
    return found == entries_.end() ? nullptr : &found->second;
  }
  // Until when it is not moved, wherever it might go; `now`: it may be moved.
  TimePoint HeldUntil(ShardIndex shard, TimePoint now) const {
    const Entry* entry = Find(shard);
    return entry == nullptr ? now : std::max({now, entry->until, entry->tried_until});
  }
  // Where it is not moved to.
  Servers ToAvoid(ShardIndex shard, TimePoint now) const {
    const Entry* entry = Find(shard);
    return entry == nullptr || now >= entry->avoid_until ? Servers() : entry->avoided;
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
