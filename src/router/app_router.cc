#include "router/app_router.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/router_impl.h"
#include "runtime/clock.h"
#include "runtime/logging.h"

namespace shardmanager::router_internal {

namespace {
// How long discovery may take to answer before the map that was kept is read.
constexpr Duration kDiscoveryPatience = Milliseconds(300);
}  // namespace

using router::MappedReplica;
using router::ShardMap;

AppRouter::AppRouter(RouterImpl& router, std::string_view app)
    : router_(router),
      name_(app),
      retries_(router.options().retry_share),
      channels_(router.NewChannels(name_)),
      outlook_{.app = name_,
               .has_discovery = router.has_discovery(),
               .keeps_maps = router.cache() != nullptr,
               .security = router.security(),
               .cache_is_read = router.cache() == nullptr || !router.security().ok(),
               .discovery = absl::UnavailableError("discovery has not answered yet")} {
  if (!router_.has_discovery()) outlook_.freshness = Freshness::kNobodySure;
  watch_ = router_.Watch(name_, *this);
  if (outlook_.cache_is_read) return;
  router_.cache()->Read(
      name_, router_.has_discovery() ? kDiscoveryPatience : Duration(0),
      [this] {
        std::lock_guard lock(mutex_);
        return outlook_.newest == nullptr;
      },
      [this](std::optional<v1::MapSnapshot> whole) { OnCached(std::move(whole)); });
}

AppRouter::~AppRouter() { EndWatch(); }

void AppRouter::EndWatch() { watch_.reset(); }

std::shared_ptr<wire::ServerChannel> AppRouter::Channel(const std::string& endpoint) {
  return channels_->Get(endpoint, router_.has_several_channels() ? router_.NextRandom() : 0);
}

void AppRouter::OnSnapshot(WholeMap whole) {
  std::lock_guard lock(holder_mutex_);
  if (!IsHeldCached(whole) && !Take(holder_.Apply(whole))) return;
  cached_cell_.reset();
  if (router_.cache() != nullptr) router_.cache()->Accepted(name_, std::move(whole));
}

bool AppRouter::OnDelta(v1::MapDelta delta) {
  std::lock_guard lock(holder_mutex_);
  if (!Take(holder_.Apply(delta))) return false;
  if (router_.cache() != nullptr) router_.cache()->Accepted(name_, std::move(delta));
  return true;
}

void AppRouter::OnCached(std::optional<v1::MapSnapshot> whole) {
  TakeCached(whole);
  ChangeAndWake([this] { outlook_.cache_is_read = true; });
}

void AppRouter::TakeCached(const std::optional<v1::MapSnapshot>& whole) {
  std::lock_guard lock(holder_mutex_);
  if (!whole || holder_.map() != nullptr) return;  // discovery was faster
  if (!Take(holder_.Apply(*whole))) return;
  cached_cell_ = whole->cell();
  LogWarning("no discovery answers: beginning with the map of {} that was kept, version {}{}",
             name_, holder_.map()->version().ToString(),
             whole->cell().empty() ? "" : " of cell " + whole->cell());
}

// Is it the map that we began with? One of another cell ends that one: versions of two
// cells cannot be compared.
bool AppRouter::IsHeldCached(const WholeMap& whole) {
  if (!cached_cell_) return false;
  if (!whole.cell().empty() && !cached_cell_->empty() && whole.cell() != *cached_cell_) {
    LogWarning("the kept map of {} is of cell {}, but discovery is of {}: dropped", name_,
               *cached_cell_, whole.cell());
    holder_ = router::MapHolder();
    return false;
  }
  return whole.version() == holder_.map()->version();
}

std::optional<MapVersion> AppRouter::Held() const {
  std::lock_guard lock(holder_mutex_);
  if (holder_.map() == nullptr) return std::nullopt;
  return holder_.map()->version();
}

v1::ReportServersRequest AppRouter::Report() {
  std::lock_guard lock(holder_mutex_);
  if (holder_.map() == nullptr) return {};
  return reporter_.Next(*holder_.map(), MonotonicNow());
}

void AppRouter::OnSuspects(std::vector<std::string> suspects) {
  std::lock_guard lock(holder_mutex_);
  reporter_.SetSuspects(suspects);
}

bool AppRouter::Take(const absl::Status& applied) {
  if (!applied.ok()) {
    refused_update_.Say(absl::StrCat("an update of the map of ", name_,
                                     " is refused: ", std::string(applied.message())));
    return false;
  }
  refused_update_.Over(absl::StrCat("updates of the map of ", name_, " are taken again"));
  const ShardIndex first_unserved = holder_.unserved() > 0 ? holder_.FirstUnserved() : ShardIndex();
  map_.Set(holder_.map());
  ChangeAndWake([&] {
    outlook_.newest = holder_.map();
    outlook_.unserved = holder_.unserved();
    outlook_.first_unserved =
        std::string(first_unserved.valid() ? outlook_.newest->layout().id(first_unserved) : "");
    for (InFlight* attempt : in_flight_) {
      if (attempt->superseded || Names(*outlook_.newest, *attempt)) continue;
      attempt->superseded = true;
      attempt->context->TryCancel();
    }
  });
  channels_->Drop(holder_.TakeAbandonedEndpoints(), MonotonicNow());
  router_.OnMapUpdate();
  return true;
}

void AppRouter::OnFreshness(Freshness freshness) {
  ChangeAndWake([&] { outlook_.freshness = freshness; });
}

void AppRouter::OnNoSuchApp(const std::string& cell) {
  ChangeAndWake([&] { outlook_.no_such_app_in = cell; });
  if (cell.empty()) {
    missing_.Over(absl::StrCat("discovery no longer says that there is no app ", name_));
  } else {
    missing_.Say(absl::StrCat("there is no app ", name_, " in cell ", cell));
  }
}

void AppRouter::OnStreamState(const absl::Status& status) {
  ChangeAndWake([&] { outlook_.discovery = status; });
  if (status.ok()) {
    other_cell_.Over(absl::StrCat("discovery of the map of ", name_, " is of our cell now"));
    lost_.Over(absl::StrCat("discovery delivers the map of ", name_, " again"));
  } else if (absl::IsFailedPrecondition(status)) {
    other_cell_.Say(
        absl::StrCat("the map of ", name_, " is refused: ", std::string(status.message())));
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
    if (attempt.as_primary && replica.role() != Role::kPrimary) return false;
    return server.name == attempt.server->name && server.endpoint == attempt.server->endpoint;
  });
}

template <typename Change>
void AppRouter::ChangeAndWake(const Change& change) {
  std::vector<std::function<void()>> wakes;
  {
    std::lock_guard lock(mutex_);
    change();
    wakes = TakeAccepting();
  }
  changed_.notify_all();
  for (const auto& wake : wakes) wake();
}

std::vector<std::function<void()>> AppRouter::TakeAccepting() {
  std::vector<std::function<void()>> wakes;
  absl::erase_if(waiters_, [&](auto& entry) {
    if (IsWorthAWait(entry.second.accepts(outlook_.newest.get()))) return false;
    wakes.push_back(std::move(entry.second.wake));
    return true;
  });
  return wakes;
}

bool AppRouter::WaitForMap(TimePoint until, absl::FunctionRef<bool(const ShardMap* map)> accepts) {
  std::unique_lock lock(mutex_);
  while (IsWorthAWait(accepts(outlook_.newest.get()))) {
    const TimePoint now = MonotonicNow();
    if (now >= until) return false;
    changed_.wait_for(lock, until - now);
  }
  return true;
}

bool AppRouter::AwaitMap(const void* who, MapWaiter waiter) {
  std::lock_guard lock(mutex_);
  if (!IsWorthAWait(waiter.accepts(outlook_.newest.get()))) return false;
  waiters_[who] = std::move(waiter);
  return true;
}

void AppRouter::ForgetWaiter(const void* who) {
  std::lock_guard lock(mutex_);
  waiters_.erase(who);
}

absl::Status AppRouter::WaitReady(TimePoint until) {
  std::unique_lock lock(mutex_);
  while (!outlook_.HasAllShards() || outlook_.freshness == Freshness::kAsking) {
    if (const absl::Status hopeless = outlook_.Hopeless(); !hopeless.ok()) {
      return absl::Status(hopeless.code(),
                          absl::StrCat(name_, ": ", std::string(hopeless.message())));
    }
    const TimePoint now = MonotonicNow();
    if (now >= until) {
      if (outlook_.HasAllShards()) break;  // nobody says that it is old
      return absl::DeadlineExceededError(outlook_.WhatIsMissing());
    }
    changed_.wait_for(lock, until - now);
  }
  return absl::OkStatus();
}

absl::Status AppRouter::WhyNoMapComes() const {
  std::lock_guard lock(mutex_);
  return outlook_.Hopeless();
}

absl::Status AppRouter::discovery_status() const {
  std::lock_guard lock(mutex_);
  return outlook_.discovery;
}

bool AppRouter::Begin(InFlight& attempt) {
  std::lock_guard lock(mutex_);
  if (outlook_.newest != nullptr && !Names(*outlook_.newest, attempt)) return false;
  in_flight_.insert(&attempt);
  return true;
}

bool AppRouter::End(InFlight& attempt) {
  std::lock_guard lock(mutex_);
  in_flight_.erase(&attempt);
  return attempt.superseded;
}

}  // namespace shardmanager::router_internal
