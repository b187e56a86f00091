// One app in a router: its current map, who waits for the next one, and what is in
// flight.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/time.h"
#include "router/map_holder.h"
#include "router/map_outlook.h"
#include "router/published.h"
#include "router/retry_budget.h"
#include "router/server_reporter.h"
#include "router/shard_map.h"
#include "runtime/logging.h"
#include "shardmanager/router.h"
#include "wire/channel_pool.h"
#include "wire/discovery_client.h"

namespace shardmanager::router_internal {

// Thread-safe. Maps come on the discovery client's thread, and from the map cache on its.
class AppRouter final : public wire::MapSink {
 public:
  using MapPointer = std::shared_ptr<const router::ShardMap>;

  AppRouter(RouterImpl& router, std::string_view app);
  ~AppRouter() override;
  // No map comes any more once this has returned.
  void EndWatch();

  const std::string& name() const { return name_; }
  RouterImpl& router() { return router_; }
  router::RetryBudget& retries() { return retries_; }
  // A connection to the server at `endpoint`; calls are spread over those that it has.
  std::shared_ptr<wire::ServerChannel> Channel(const std::string& endpoint);

  // The newest map; null: none has come. No lock in the steady state: see Published.
  // The reference is good until this thread's next call.
  const MapPointer& map() const { return map_.Get(); }

  // Waits until `accepts` the newest map (null: none), at most until `until`. False: it does not,
  // and one that it does may still come.
  bool WaitForMap(TimePoint until, absl::FunctionRef<bool(const router::ShardMap* map)> accepts);
  // The same without a thread. `accepts` must be quick, and is not called any more once this has
  // returned false, or Forget(). Then `wake` is called, on the maps' thread, unless Forget() was.
  struct MapWaiter {
    std::function<bool(const router::ShardMap* map)> accepts;
    std::function<void()> wake;
  };
  // False: there is nothing to wait for.
  bool AwaitMap(const void* who, MapWaiter waiter);
  void ForgetWaiter(const void* who);
  absl::Status WaitReady(TimePoint until);

  // MapOutlook::Hopeless.
  absl::Status WhyNoMapComes() const;
  // Why there may be no map, or none newer. OK: discovery delivers.
  absl::Status discovery_status() const;

  // An attempt on its way that may be given up and tried elsewhere. Views must outlive
  // it.
  struct InFlight {
    grpc::ClientContext* context;
    std::string_view shard;
    const router::MappedServer* server;
    bool as_primary = false;  // it is superseded when the server is the primary no longer, too
    bool superseded = false;
  };
  // From now until End, `attempt` is cancelled when a map comes that does not name its
  // server for its shard any more. False: that is so already; it is not begun.
  bool Begin(InFlight& attempt);
  // Was it superseded?
  bool End(InFlight& attempt);

 private:
  void OnSnapshot(WholeMap whole) override;
  bool OnDelta(v1::MapDelta delta) override;
  std::optional<MapVersion> Held() const override;
  v1::ReportServersRequest Report() override;
  void OnSuspects(std::vector<std::string> suspects) override;
  void OnFreshness(Freshness freshness) override;
  void OnNoSuchApp(const std::string& cell) override;
  void OnStreamState(const absl::Status& status) override;
  // Of the file that the map cache has; nothing: there is none.
  void OnCached(std::optional<v1::MapSnapshot> whole);
  void TakeCached(const std::optional<v1::MapSnapshot>& whole);
  // REQUIRES: holder_mutex_ held.
  bool Take(const absl::Status& applied);
  bool IsHeldCached(const WholeMap& whole);

  static bool Names(const router::ShardMap& map, const InFlight& attempt);
  // REQUIRES: mutex_ held.
  bool IsWorthAWait(bool accepted) const { return !accepted && outlook_.Hopeless().ok(); }
  std::vector<std::function<void()>> TakeAccepting();
  // Of waiting calls.
  template <typename Change>
  void ChangeAndWake(const Change& change);

  RouterImpl& router_;
  const std::string name_;
  router::RetryBudget retries_;
  const std::unique_ptr<wire::ChannelPool> channels_;
  // Held while a map is taken: lookups and calls do without it.
  mutable std::mutex holder_mutex_;
  router::MapHolder holder_;
  router::ServerReporter reporter_;
  std::optional<std::string> cached_cell_;  // the map in use is the cached one, of that cell
  Repeater refused_update_;
  Repeater other_cell_;
  Repeater missing_;
  Repeater lost_;
  router::Published<router::ShardMap> map_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  MapOutlook outlook_;  // its newest map is what map_ has, for those who wait
  absl::flat_hash_map<const void*, MapWaiter> waiters_;
  absl::flat_hash_set<InFlight*> in_flight_;

  std::unique_ptr<wire::MapWatch> watch_;  // the first to go
};

}  // namespace shardmanager::router_internal
