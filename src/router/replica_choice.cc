#include "router/replica_choice.h"

#include <algorithm>
#include <array>
#include <span>

namespace shardmanager::router {
namespace {

constexpr uint64_t kLookOneIn = 64;

// 0: the same rack; 3: another region.
int Distance(const FaultDomain& client, const FaultDomain& server) {
  const auto same = [](const std::string& a, const std::string& b) { return !a.empty() && a == b; };
  if (!same(client.region, server.region)) return 3;
  if (!same(client.datacenter, server.datacenter)) return 2;
  return same(client.rack, server.rack) ? 0 : 1;
}

// Who takes longer than this is slow beside one that takes `best`. A millisecond more is noise.
Duration SlowAfter(Duration best, bool best_is_farther) {
  return (best_is_farther ? best * 3 : best * 3 / 2) + Milliseconds(1);
}

// The replicas of one shard that a request may go to, the better ones first.
class Ranking {
 public:
  Ranking(const ShardMap& map, std::span<const MappedReplica> replicas,
          const ReplicaPreference& preference)
      : preference_(preference) {
    static const FaultDomain kNowhere;
    const FaultDomain& client = preference.location == nullptr ? kNowhere : *preference.location;
    for (const MappedReplica& replica : replicas) {
      const MappedServer& server = map.server(replica.server());
      if (server.name == preference.avoid) continue;
      Candidate& candidate = candidates_[count_++];
      candidate = {&replica, server.health.get(), server.health->latency(),
                   Distance(client, server.fault_domain), server.health->in_trouble()};
      in_trouble_ += candidate.in_trouble ? 1 : 0;
    }
  }

  bool empty() const { return count_ == 0; }

  ReplicaChoice Choose() {
    const bool leave_out =
        preference_.leave_out_outliers && in_trouble_ > 0 && in_trouble_ < count_;
    if (leave_out) {
      if (const MappedReplica* probed = Probed()) return {probed};
      RemoveIf([](const Candidate& c) { return c.in_trouble; });
    }
    const Candidate looked_at = candidates_[Draw(count_)];
    KeepBestDistance();
    KeepFast();
    if (Draw(kLookOneIn) == 0 && !Has(looked_at) && looked_at.health->TakeProbe(preference_.now)) {
      return {looked_at.replica, leave_out};
    }
    return {LessBusyOfTwo(), leave_out};
  }

 private:
  struct Candidate {
    const MappedReplica* replica;
    ServerHealth* health;
    Duration latency;
    int distance;
    bool in_trouble;
  };

  // A server in trouble whose probe is due.
  const MappedReplica* Probed() {
    for (size_t i = 0; i < count_; ++i) {
      const Candidate& c = candidates_[i];
      if (c.in_trouble && c.health->TakeProbe(preference_.now)) return c.replica;
    }
    return nullptr;
  }

  // The nearest ones, unless all of these are slow beside a farther one.
  void KeepBestDistance() {
    int kept = Farthest() + 1;
    Duration fastest_farther = Duration::max();
    for (int distance = kept - 1; distance >= 0; --distance) {
      const Duration fastest = Fastest(distance);
      if (fastest == Duration::max()) continue;  // there is none
      const bool slow = fastest_farther != Duration::max() && fastest_farther > Duration(0) &&
                        fastest > SlowAfter(fastest_farther, true);
      if (slow) continue;
      kept = distance;
      // What is not known is no measure for those that are nearer.
      if (fastest > Duration(0)) fastest_farther = std::min(fastest_farther, fastest);
    }
    RemoveIf([&](const Candidate& c) { return c.distance != kept; });
  }

  void KeepFast() {
    Duration best = Duration::max();
    for (size_t i = 0; i < count_; ++i) {
      if (candidates_[i].latency > Duration(0)) best = std::min(best, candidates_[i].latency);
    }
    if (best == Duration::max()) return;
    RemoveIf([&](const Candidate& c) { return c.latency > SlowAfter(best, false); });
  }

  int Farthest() const {
    int farthest = 0;
    for (size_t i = 0; i < count_; ++i) farthest = std::max(farthest, candidates_[i].distance);
    return farthest;
  }
  // Max: there is none. Zero: one of which nothing is known, so it may be fast.
  Duration Fastest(int distance) const {
    Duration fastest = Duration::max();
    for (size_t i = 0; i < count_; ++i) {
      if (candidates_[i].distance == distance) fastest = std::min(fastest, candidates_[i].latency);
    }
    return fastest;
  }

  const MappedReplica* LessBusyOfTwo() {
    const size_t one = Draw(count_);
    if (count_ == 1) return candidates_[0].replica;
    const size_t other = (one + 1 + Draw(count_ - 1)) % count_;
    const bool other_is_less_busy =
        candidates_[other].health->in_flight() < candidates_[one].health->in_flight();
    return candidates_[other_is_less_busy ? other : one].replica;
  }

  bool Has(const Candidate& candidate) const {
    return std::any_of(candidates_.begin(), candidates_.begin() + count_,
                       [&](const Candidate& c) { return c.replica == candidate.replica; });
  }
  template <typename Predicate>
  void RemoveIf(const Predicate& predicate) {
    count_ = static_cast<size_t>(
        std::remove_if(candidates_.begin(), candidates_.begin() + count_, predicate) -
        candidates_.begin());
  }

  // Evenly below `bound`, from what is left of the random number.
  size_t Draw(size_t bound) {
    const auto drawn = static_cast<size_t>(random_ % bound);
    random_ /= bound;
    return drawn;
  }

  const ReplicaPreference& preference_;
  uint64_t random_ = preference_.random;
  std::array<Candidate, ShardMap::kMostReplicas> candidates_;
  size_t count_ = 0;
  size_t in_trouble_ = 0;
};

}  // namespace

ReplicaChoice ChooseReplica(const ShardMap& map, ShardIndex shard,
                            const ReplicaPreference& preference) {
  const std::span<const MappedReplica> replicas = map.replicas(shard);
  bool behind = false;
  for (const MappedReplica& replica : replicas) {
    if (preference.any_replica) break;
    if (replica.role() == Role::kPrimary) return {&replica};
    behind |= replica.behind_primary();
  }
  if (behind) return {};  // its primary is awaited
  if (replicas.size() <= 1) return {replicas.empty() ? nullptr : &replicas.front()};
  Ranking ranking(map, replicas, preference);
  return ranking.empty() ? ReplicaChoice{&replicas.front()} : ranking.Choose();
}

}  // namespace shardmanager::router
