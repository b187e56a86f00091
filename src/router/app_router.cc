#include "router/app_router.h"

#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/router_impl.h"
#include "runtime/clock.h"

namespace shardmanager::router_internal {

using router::MappedReplica;
using router::ShardMap;

AppRouter::AppRouter(RouterImpl& router, std::string_view app)
    : router_(router),
      name_(app),
      discovery_status_(absl::UnavailableError("discovery has not answered yet")) {
  watch_ = router_.Watch(name_, *this);
}

AppRouter::~AppRouter() { watch_.reset(); }

void AppRouter::OnSnapshot(v1::MapSnapshot whole) { Take(holder_.Apply(whole)); }

bool AppRouter::OnDelta(v1::MapDelta delta) { return Take(holder_.Apply(delta)); }

std::optional<MapVersion> AppRouter::Held() const {
  if (holder_.map() == nullptr) return std::nullopt;
  return holder_.map()->version();
}

bool AppRouter::Take(const absl::Status& applied) {
  if (!applied.ok()) {
    spdlog::warn("an update of the map of {} is refused: {}", name_,
                 std::string(applied.message()));
    return false;
  }
  const ShardIndex first_unserved = holder_.unserved() > 0 ? holder_.FirstUnserved() : ShardIndex();
  map_.Set(holder_.map());
  {
    std::lock_guard lock(mutex_);
    newest_ = holder_.map();
    unserved_ = holder_.unserved();
    first_unserved_ = first_unserved.valid() ? newest_->layout().id(first_unserved) : "";
    for (InFlight* attempt : in_flight_) {
      if (attempt->superseded || Names(*newest_, *attempt)) continue;
      attempt->superseded = true;
      attempt->context->TryCancel();
    }
  }
  changed_.notify_all();
  router_.OnMapUpdate(holder_.TakeAbandonedEndpoints());
  return true;
}

void AppRouter::OnStreamState(const absl::Status& status) {
  {
    std::lock_guard lock(mutex_);
    discovery_status_ = status;
  }
  if (status.ok()) {
    lost_.Over(absl::StrCat("discovery delivers the map of ", name_, " again"));
  } else {
    lost_.Say(absl::StrCat("discovery does not deliver the map of ", name_,
                           "; working from the last one: ", std::string(status.message())));
  }
}

bool AppRouter::Names(const ShardMap& map, const InFlight& attempt) {
  const ShardIndex shard = map.layout().FindById(attempt.shard);
  if (!shard.valid()) return false;
  const auto replicas = map.replicas(shard);
  return std::any_of(replicas.begin(), replicas.end(), [&](const MappedReplica& replica) {
    const router::MappedServer& server = map.server(replica.server());
    return server.name == attempt.server->name && server.endpoint == attempt.server->endpoint;
  });
}

bool AppRouter::WaitForMap(TimePoint until, absl::FunctionRef<bool(const ShardMap* map)> accepts) {
  std::unique_lock lock(mutex_);
  while (!accepts(newest_.get())) {
    const TimePoint now = MonotonicNow();
    if (now >= until) return false;
    changed_.wait_for(lock, until - now);
  }
  return true;
}

absl::Status AppRouter::WaitReady(TimePoint until) {
  std::unique_lock lock(mutex_);
  while (newest_ == nullptr || newest_->layout().size() == 0 || unserved_ > 0) {
    const TimePoint now = MonotonicNow();
    if (now >= until) return absl::DeadlineExceededError(WhatIsMissing());
    changed_.wait_for(lock, until - now);
  }
  return absl::OkStatus();
}

std::string AppRouter::WhatIsMissing() const {
  const std::string discovery =
      discovery_status_.ok() ? ""
                             : absl::StrCat(" (", std::string(discovery_status_.message()), ")");
  if (newest_ == nullptr) return absl::StrCat(name_, ": no shard map has come", discovery);
  if (newest_->layout().size() == 0)
    return absl::StrCat(name_, ": the app has no shards", discovery);
  return absl::StrCat(name_, ": ", unserved_, " of ", newest_->layout().size(),
                      " shards are not served, the first is ", first_unserved_, discovery);
}

absl::Status AppRouter::discovery_status() const {
  std::lock_guard lock(mutex_);
  return discovery_status_;
}

bool AppRouter::Begin(InFlight& attempt) {
  std::lock_guard lock(mutex_);
  if (newest_ != nullptr && !Names(*newest_, attempt)) return false;
  in_flight_.insert(&attempt);
  return true;
}

bool AppRouter::End(InFlight& attempt) {
  std::lock_guard lock(mutex_);
  in_flight_.erase(&attempt);
  return attempt.superseded;
}

}  // namespace shardmanager::router_internal
