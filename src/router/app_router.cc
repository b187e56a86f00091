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
      discovery_status_(absl::UnavailableError("discovery has not answered yet")) {
  cache_is_read_ = router_.cache() == nullptr;
  watch_ = router_.Watch(name_, *this);
  if (router_.cache() == nullptr) return;
  router_.cache()->Read(
      name_, router_.has_discovery() ? kDiscoveryPatience : Duration(0),
      [this] {
        std::lock_guard lock(mutex_);
        return newest_ == nullptr;
      },
      [this](std::optional<v1::MapSnapshot> whole) { OnCached(std::move(whole)); });
}

AppRouter::~AppRouter() { EndWatch(); }

void AppRouter::EndWatch() { watch_.reset(); }

void AppRouter::OnSnapshot(v1::MapSnapshot whole) {
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
  ChangeAndWake([this] { cache_is_read_ = true; });
}

void AppRouter::TakeCached(const std::optional<v1::MapSnapshot>& whole) {
  std::lock_guard lock(holder_mutex_);
  if (!whole || holder_.map() != nullptr) return;  // discovery was faster
  if (!Take(holder_.Apply(*whole))) return;
  cached_cell_ = whole->cell();
  spdlog::warn("no discovery answers: beginning with the map of {} that was kept, version {}{}",
               name_, holder_.map()->version().ToString(),
               whole->cell().empty() ? "" : " of cell " + whole->cell());
}

bool AppRouter::Takes(const v1::MapSnapshot& whole) {
  const std::string& cell = router_.options().cell;
  if (router::IsOfCell(whole.cell(), cell)) return true;
  const std::string why =
      absl::StrCat("discovery has maps of cell ", whole.cell(), ", not of ", cell);
  other_cell_.Say(absl::StrCat(why, ": the map of ", name_, " is refused"));
  ChangeAndWake([&] {
    refused_ = absl::FailedPreconditionError(absl::StrCat(why, " (RouterOptions::cell)"));
  });
  return false;
}

// Is it the map that we began with? One of another cell ends that one: versions of two
// cells cannot be compared.
bool AppRouter::IsHeldCached(const v1::MapSnapshot& whole) {
  if (!cached_cell_) return false;
  if (!whole.cell().empty() && !cached_cell_->empty() && whole.cell() != *cached_cell_) {
    spdlog::warn("the kept map of {} is of cell {}, but discovery is of {}: dropped", name_,
                 *cached_cell_, whole.cell());
    holder_ = router::MapHolder();
    return false;
  }
  return MapVersion::From(whole.version()) == holder_.map()->version();
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
    spdlog::warn("an update of the map of {} is refused: {}", name_,
                 std::string(applied.message()));
    return false;
  }
  const ShardIndex first_unserved = holder_.unserved() > 0 ? holder_.FirstUnserved() : ShardIndex();
  map_.Set(holder_.map());
  ChangeAndWake([&] {
    newest_ = holder_.map();
    unserved_ = holder_.unserved();
    first_unserved_ = first_unserved.valid() ? newest_->layout().id(first_unserved) : "";
    refused_ = absl::OkStatus();
    for (InFlight* attempt : in_flight_) {
      if (attempt->superseded || Names(*newest_, *attempt)) continue;
      attempt->superseded = true;
      attempt->context->TryCancel();
    }
  });
  router_.OnMapUpdate(holder_.TakeAbandonedEndpoints());
  return true;
}

void AppRouter::OnStreamState(const absl::Status& status) {
  {
    std::lock_guard lock(mutex_);
    discovery_status_ = status;
    if (!status.ok()) refused_ = absl::OkStatus();  // another endpoint may have our cell
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
    if (IsWorthAWait(entry.second.accepts(newest_.get()))) return false;
    wakes.push_back(std::move(entry.second.wake));
    return true;
  });
  return wakes;
}

bool AppRouter::WaitForMap(TimePoint until, absl::FunctionRef<bool(const ShardMap* map)> accepts) {
  std::unique_lock lock(mutex_);
  while (IsWorthAWait(accepts(newest_.get()))) {
    const TimePoint now = MonotonicNow();
    if (now >= until) return false;
    changed_.wait_for(lock, until - now);
  }
  return true;
}

bool AppRouter::AwaitMap(const void* who, MapWaiter waiter) {
  std::lock_guard lock(mutex_);
  if (!IsWorthAWait(waiter.accepts(newest_.get()))) return false;
  waiters_[who] = std::move(waiter);
  return true;
}

void AppRouter::ForgetWaiter(const void* who) {
  std::lock_guard lock(mutex_);
  waiters_.erase(who);
}

absl::Status AppRouter::WaitReady(TimePoint until) {
  std::unique_lock lock(mutex_);
  while (newest_ == nullptr || newest_->layout().size() == 0 || unserved_ > 0) {
    if (const absl::Status hopeless = Hopeless(); !hopeless.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(name_, ": ", std::string(hopeless.message())));
    }
    const TimePoint now = MonotonicNow();
    if (now >= until) return absl::DeadlineExceededError(WhatIsMissing());
    changed_.wait_for(lock, until - now);
  }
  return absl::OkStatus();
}

absl::Status AppRouter::Hopeless() const {
  if (newest_ != nullptr || !cache_is_read_) return absl::OkStatus();
  if (router_.has_discovery()) return refused_;
  return absl::FailedPreconditionError(
      absl::StrCat("RouterOptions::discovery is empty, so no shard map comes",
                   router_.cache() == nullptr ? "" : ", and none is kept"));
}

absl::Status AppRouter::WhyNoMapComes() const {
  std::lock_guard lock(mutex_);
  return Hopeless();
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
