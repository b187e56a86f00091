// Where shards are: Router::Resolve and Scan.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "router/deadlines.h"
#include "router/router_impl.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

using router::MappedReplica;
using router::ShardMap;
using router_internal::AppRouter;

absl::StatusOr<AppRouter::MapPointer> AwaitAnyMap(AppRouter& app,
                                                  std::chrono::milliseconds timeout) {
  const TimePoint until = router_internal::After(MonotonicNow(), timeout);
  for (;;) {
    const bool over = !app.WaitForMap(until, [](const ShardMap* map) { return map != nullptr; });
    if (app.map() != nullptr) return app.map();
    const absl::Status hopeless = app.WhyNoMapComes();
    if (!hopeless.ok()) {
      return absl::Status(hopeless.code(),
                          absl::StrCat(app.name(), ": ", std::string(hopeless.message())));
    }
    if (!over) continue;  // a map may come after all
    return absl::DeadlineExceededError(
        absl::StrCat(app.name(), ": no shard map has come within ", timeout.count(),
                     " ms: ", std::string(app.discovery_status().message())));
  }
}

ShardPlace PlaceOf(const ShardMap& map, ShardIndex shard) {
  ShardPlace place{.shard = ShardId(std::string(map.layout().id(shard)))};
  if (!map.layout().hashed()) {
    place.start = std::string(map.layout().start(shard));
    place.end = std::string(map.layout().end(shard));
  }
  const auto replicas = map.replicas(shard);
  if (replicas.empty()) return place;
  const auto primary =
      std::find_if(replicas.begin(), replicas.end(),
                   [](const MappedReplica& replica) { return replica.role() == Role::kPrimary; });
  // A secondary behind its primary does not take its place.
  if (primary == replicas.end() && replicas.front().behind_primary()) return place;
  const router::MappedServer& server =
      map.server(primary == replicas.end() ? replicas.front().server() : primary->server());
  place.server = server.name;
  place.endpoint = server.endpoint;
  return place;
}

}  // namespace

absl::StatusOr<ShardPlace> Router::Resolve(std::string_view app, std::string_view key,
                                           std::chrono::milliseconds timeout) {
  const auto map = AwaitAnyMap(App(app), timeout);
  if (!map.ok()) return map.status();
  const ShardIndex shard = (*map)->layout().FindByKey(key);
  if (shard.valid()) return PlaceOf(**map, shard);
  return absl::NotFoundError(absl::StrCat(std::string(app), ": no shard holds the key ",
                                          Quoted(key), " in map ", (*map)->version().ToString()));
}

absl::StatusOr<std::vector<ShardPlace>> Router::Scan(std::string_view app, std::string_view start,
                                                     std::string_view end,
                                                     std::chrono::milliseconds timeout) {
  const auto map = AwaitAnyMap(App(app), timeout);
  if (!map.ok()) return map.status();
  if ((*map)->layout().hashed() && !(start.empty() && end.empty())) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(app), " hashes its keys (key_space.hash_keys): neighbouring keys are in ",
        "different shards, so only all keys, from \"\" to \"\", can be scanned"));
  }
  std::vector<ShardPlace> places;
  for (const ShardIndex shard : (*map)->layout().FindInRange(start, end)) {
    places.push_back(PlaceOf(**map, shard));
  }
  return places;
}

}  // namespace shardmanager
