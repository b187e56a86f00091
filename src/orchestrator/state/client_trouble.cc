#include "orchestrator/state/client_trouble.h"

#include <algorithm>
#include <utility>

namespace shardmanager::orchestrator {

ClientTrouble::Verdicts ClientTrouble::Hear(TimePoint now, const std::vector<Seen>& seen,
                                            size_t live_servers) {
  TakeIn(now, seen);
  Verdicts verdicts;
  const size_t most = std::max<size_t>(1, live_servers * kMostPercent / 100);
  std::vector<ServerIndex> candidates;
  for (auto& [server, c] : cases_) {
    if (c.shunned && now >= c.trial_at) {
      c.shunned = false;
      c.complained_of = false;
      --shunned_;
      if (c.trials < kMostDoublings) ++c.trials;
      verdicts.try_again.push_back(server);
    } else if (!c.shunned && c.complained_of && now - c.since >= kPatience) {
      candidates.push_back(server);
    }
  }
  std::sort(verdicts.try_again.begin(), verdicts.try_again.end());
  std::sort(candidates.begin(), candidates.end());
  too_many_ = candidates.size() + shunned_ > most;
  verdicts.too_many = too_many_;
  if (too_many_) return verdicts;
  for (const ServerIndex server : candidates) {
    Case& c = cases_.at(server);
    c.shunned = true;
    c.trial_at = now + kFirstTrial * (int64_t{1} << c.trials);
    ++shunned_;
  }
  verdicts.shun = std::move(candidates);
  return verdicts;
}

void ClientTrouble::TakeIn(TimePoint now, const std::vector<Seen>& seen) {
  absl::flat_hash_map<ServerIndex, const Seen*> enough;
  for (const Seen& s : seen) {
    if (s.in_trouble >= kLeastClients && s.in_trouble > s.well) enough[s.server] = &s;
  }
  for (const auto& [server, s] : enough) {
    Case& c = cases_[server];
    if (!std::exchange(c.complained_of, true)) c.since = now;
    c.in_trouble = s->in_trouble;
    c.well = s->well;
    c.problem = s->problem;
  }
  for (auto& [server, c] : cases_) c.complained_of &= enough.contains(server);
}

bool ClientTrouble::Restarted(ServerIndex server) {
  const auto found = cases_.find(server);
  if (found == cases_.end()) return false;
  Case& c = found->second;
  c.complained_of = false;
  if (!c.shunned) return false;
  c.shunned = false;
  --shunned_;
  if (c.trials < kMostDoublings) ++c.trials;
  return true;
}

}  // namespace shardmanager::orchestrator
