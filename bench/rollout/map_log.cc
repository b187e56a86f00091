#include "rollout/map_log.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace shardmanager {

void MapLog::Look(const std::function<bool(const std::string& server)>& stopped) {
  const auto newer = [this](const local::MapView& view) { return view.version != view_.version; };
  local::MapView view;
  if (map_.WaitFor(newer, std::chrono::milliseconds(0), &view)) {
    view_ = std::move(view);
    CountMoves();
  }
  CountAway(stopped);
}

void MapLog::Reset() {
  moves_ = 0;
  most_away_ = 0;
  shard_most_away_.clear();
}

void MapLog::CountMoves() {
  last_.resize(view_.shards.size());
  replicas_ = 0;
  for (size_t i = 0; i < view_.shards.size(); ++i) {
    const std::vector<uint32_t>& servers = view_.shards[i].servers;
    replicas_ += servers.size();
    if (servers.empty()) continue;
    const auto server = view_.servers.find(servers.front());
    if (server == view_.servers.end() || server->second == last_[i]) continue;
    moves_ += !last_[i].empty();
    last_[i] = server->second;
  }
}

void MapLog::CountAway(const std::function<bool(const std::string& server)>& stopped) {
  std::set<uint32_t> away;
  for (const auto& [index, name] : view_.servers) {
    if (stopped(name)) away.insert(index);
  }
  for (size_t i = 0; i < view_.shards.size(); ++i) {
    const std::vector<uint32_t>& servers = view_.shards[i].servers;
    const auto gone = static_cast<size_t>(std::count_if(
        servers.begin(), servers.end(), [&](uint32_t server) { return away.contains(server); }));
    const size_t serving = servers.size() - gone;
    const size_t missing = wanted_ - std::min(wanted_, serving);
    if (missing <= most_away_) continue;
    most_away_ = missing;
    shard_most_away_ = view_.shards[i].id;
  }
}

}  // namespace shardmanager
