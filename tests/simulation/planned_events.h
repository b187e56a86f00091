// What happens in a cell at rest, without faults: a server joins, another one is drained, the
// control plane is restarted, the app is paused, a shard is pinned, shards are wanted in a region,
// a maintenance takes place, and all servers are restarted. Nothing may be missed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/simulation/watched_cell.h"

namespace shardmanager::simulation {

class PlannedEvents {
 public:
  explicit PlannedEvents(WatchedCell& cell) : cell_(cell) {}

  // REQUIRES: the cell is at rest. One after the other; at the first violation it ends.
  void All();

 private:
  // By shard: requests that were refused, and calls that failed.
  using Trouble = std::map<std::string, uint64_t>;

  void Join();
  // Returns the server.
  std::string Drain();
  void RestartControl();
  void ChangeLoads();
  // While the app is paused, the end of a drain moves nothing, whoever leads.
  void PauseForAWhile(const std::string& drained);
  // Shards go to the region that most of their requests come from.
  void ChangeDemand();
  void AwaitDemand();
  // A pinned replica stays on a server that is drained, whoever leads.
  void PinForAWhile();
  // Shards go to the region that is ordered for them, whoever leads.
  void PreferForAWhile();
  // A shard that no other server can add stays on a server that is drained, serves, and is not
  // tried again and again.
  void PoisonForAWhile();
  // Of one server, or of a region whose shards can all go elsewhere.
  void Maintain();
  // Of all servers, by all managers at once. True: no request may be refused or fail. That is so if
  // all servers were stopped gracefully, there was a leader to tell clients where shards went, and
  // shards were added in less time than a call has.
  bool RestartEverything();
  void RestartLeaderNowAndThen(TimePoint until);
  void AwaitRestarts();

  bool MayRestart(const v1::AppSpec& spec) const;
  bool BeginLongRequests(const std::string& server);
  v1::DrainScope SomeScope(bool regions);
  std::set<std::string> ServersIn(const v1::DrainScope& scope);
  // What the spec wants in regions is there.
  void CheckWishes();
  // Shards are where most of their requests come from: their primaries, if they have any.
  void CheckDemand();
  std::set<std::string> FreeRegions();  // with free servers
  bool IsIn(const std::string& region, const std::string& shard, bool as_primary = false);
  // Nothing: there is a reason for moves to wait.
  std::optional<v1::AppSpec> SpecIfAllMayMove();
  std::string SomeHealthyServer() const;
  bool HasPrimaries() const;

  Trouble TroubleOfCalls() const;
  Trouble TroubleOfPrimaries() const;
  void ExpectNoMoreTrouble(const Trouble& before, const Trouble& now, uint64_t most);

  WatchedCell& cell_;
};

}  // namespace shardmanager::simulation
