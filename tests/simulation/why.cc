#include "tests/simulation/why.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {

void Explain(WatchedCell& cell, SimControl& control, const std::string& shard) {
  v1::ExplainShardRequest request;
  request.set_app(kApp);
  request.set_shard(shard);
  control.controller().operations().ExplainShard(request, [&cell](const auto& answer) {
    if (!answer.ok()) return cell.Trace(answer.status().ToString());
    cell.Trace(absl::StrCat(answer->shard().shard(), ": ", answer->shard().state(), ", ",
                            answer->shard().reason()));
    for (const v1::ReplicaStatus& r : answer->shard().replicas()) {
      cell.Trace(absl::StrCat("  ", r.server(), " ", v1::Role_Name(r.role()), " ", r.state(), " ",
                              r.reason()));
      for (const v1::MetricUse& load : r.loads()) {
        cell.Trace(absl::StrCat("    carries ", load.used(), " ", load.metric()));
      }
    }
    if (answer->shard().has_scaling()) {
      cell.Trace(absl::StrCat("  scaling: ", answer->shard().scaling().state(), ", ",
                              answer->shard().scaling().message()));
    }
    for (const v1::Wait& wait : answer->waits()) cell.Trace("  waits: " + wait.message());
  });
}

}  // namespace

void TellMaps(WatchedCell& cell) {
  const auto tell = [&cell](const std::string& host, const std::optional<MapVersion>& version,
                            bool stale) {
    cell.Trace(absl::StrCat(host, " has the map ", version ? version->ToString() : "none",
                            stale ? ", and says that there may be a newer one" : ""));
  };
  for (const std::string& host : cell.cluster.controls()) {
    SimControl* control = cell.cluster.control(host);
    if (control != nullptr) tell(host, control->feed().version(), control->feed().stale());
  }
  for (size_t i = 0; i < cell.cluster.relays().size(); ++i) {
    const SimFeed& feed = cell.cluster.feed_of(i);
    tell(cell.cluster.relays()[i], feed.version(), feed.stale());
  }
  for (const auto& client : cell.cluster.clients()) {
    if (client->map() != nullptr) tell(client->host(), client->map()->version(), false);
  }
}

void AskWhy(WatchedCell& cell) {
  for (const std::string& host : cell.cluster.controls()) {
    SimControl* control = cell.cluster.control(host);
    if (control == nullptr || !control->controller().leads()) continue;
    v1::GetShardsRequest request;
    request.set_app(kApp);
    control->controller().operations().GetShards(request, [&cell, control](const auto& shards) {
      int asked = 0;
      for (const v1::ShardStatus& shard : shards->shards()) {
        const bool named = absl::StrContains(cell.checkers.violation(), shard.shard() + " ");
        if (named || (shard.state() != "serving" && ++asked <= 2)) {
          Explain(cell, *control, shard.shard());
        }
      }
    });
  }
  const TimePoint end = cell.cluster.schedule.now() + Seconds(1);
  while (cell.cluster.schedule.RunNext(end)) cell.cluster.store.Kick();
}

}  // namespace shardmanager::simulation
