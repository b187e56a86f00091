#include "orchestrator/state/quarantine.h"

#include <algorithm>
#include <utility>

namespace shardmanager::orchestrator {

bool Quarantine::Failed(ServerIndex server, ShardIndex shard, TimePoint now,
                        const std::string& error) {
  Case& found = cases_[server];
  if (found.failed.empty()) found.since = now;
  const bool known =
      std::find(found.failed.begin(), found.failed.end(), shard) != found.failed.end();
  if (!known && found.failed.size() < kMostFailed) found.failed.push_back(shard);
  found.error = error;
  if (found.sick) return now >= found.trial_at;  // else it was asked for before
  return found.failed.size() == kMostFailed;
}

void Quarantine::Begin(ServerIndex server, TimePoint now) {
  Case& found = cases_[server];
  sick_ += !std::exchange(found.sick, true);
  found.trial_at = now + kFirstTrial * (1 << std::min<int>(found.trials, kMostDoublings));
  if (found.trials < UINT8_MAX) ++found.trials;
}

bool Quarantine::Added(ServerIndex server, TimePoint now) {
  if (newest_.server != server) before_ = newest_;
  newest_ = {server, now};
  return Lift(server);
}

bool Quarantine::Lift(ServerIndex server) {
  const auto found = cases_.find(server);
  if (found == cases_.end()) return false;
  const bool sick = found->second.sick;
  sick_ -= sick;
  cases_.erase(found);
  return sick;
}

bool Quarantine::Restarted(ServerIndex server) {
  const auto found = cases_.find(server);
  if (found == cases_.end()) return false;
  const bool sick = std::exchange(found->second.sick, false);
  sick_ -= sick;
  found->second.failed.clear();
  return sick;
}

}  // namespace shardmanager::orchestrator
