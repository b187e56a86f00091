// Subscribes to shard maps over Discovery.Watch, for as long as it takes: connects
// again after any failure, to several endpoints in turn, resumes by version, and
// gives up on a stream that fell silent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "discovery/publisher_outlook.h"
#include "discovery/reconnect_policy.h"
#include "model/map/whole_map.h"
#include "model/map_reach.h"
#include "model/map_version.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.pb.h"
#include "wire/transport.h"

namespace shardmanager::wire {

// Gets the updates of one app, one call at a time, on the client's thread. Must not
// block, and must not destroy the watch from inside a call.
class MapSink {
 public:
  virtual ~MapSink() = default;
  // A whole map, newer than any before it.
  virtual void OnSnapshot(WholeMap whole) = 0;
  // From exactly the version delivered last. False: it cannot be applied; a snapshot
  // comes next.
  virtual bool OnDelta(v1::MapDelta delta) = 0;
  // Asked when a delta was refused: the version that is held, so that nothing older
  // comes. Nothing: any map will do.
  virtual std::optional<MapVersion> Held() const { return std::nullopt; }
  // Whether a newer map may exist elsewhere, at the first message and at each change: the
  // publisher says so, or no publisher has said anything for `silence` and `first_message`
  // together. The client looks for another publisher by itself.
  virtual void OnStale(bool stale) { (void)stale; }
  // How sure it is that what is held is the newest map, when that changes.
  using Freshness = discovery::Freshness;
  virtual void OnFreshness(Freshness freshness) { (void)freshness; }
  // A publisher is sure that this cell has no such app; "": that is over. The app may be made
  // later.
  virtual void OnNoSuchApp(const std::string& cell) { (void)cell; }
  // What is to be said of the app's servers now; without `servers`: nothing is. Asked every 2 s or
  // so; the client sends it when it has to be sent.
  virtual v1::ReportServersRequest Report() { return {}; }
  // Servers that some client cannot use (Heartbeat.suspects), when that changes.
  virtual void OnSuspects(std::vector<std::string> suspects) { (void)suspects; }
  // The stream is lost (why), or one delivers again (OK). For people: nothing needs
  // to be done. FAILED_PRECONDITION: all endpoints are of other cells than
  // DiscoveryClientOptions::cell; they are asked again every few seconds.
  virtual void OnStreamState(const absl::Status& status) { (void)status; }
};

struct DiscoveryClientOptions {
  // REQUIRED. "host:port", tried in order and in turn.
  std::vector<std::string> endpoints;
  // Who is asking, for the publisher's logs. Default: "<host>/<pid>".
  std::string subscriber;
  // What it does with maps, for operators.
  v1::SubscriberKind kind = v1::SUBSCRIBER_KIND_UNSPECIFIED;
  // Maps of cells of another name are not taken, and their publishers are left for the next
  // endpoint. Default: "", any cell. Example: "prod".
  std::string cell;
  // A stream without any message, heartbeats included, is dead after this.
  Duration silence = 3 * kMapHeartbeat;
  // The same for the first message of a stream.
  Duration first_message = kMapHeartbeat;
  // How often the sink is asked for a report, more or less by a quarter.
  Duration report_interval = Seconds(2);
  // How often a report that stays the same is sent. Publishers forget it after 15 s.
  Duration report_again = Seconds(5);
  // Between attempts, see ReconnectPolicy.
  Duration shortest_backoff = discovery::ReconnectPolicy::Limits{}.shortest;
  Duration longest_backoff = discovery::ReconnectPolicy::Limits{}.longest;
  Duration longest_backoff_with_map = discovery::ReconnectPolicy::Limits{}.longest_with_map;
  // REQUIRED. How they are connected to.
  std::shared_ptr<const Transport> transport = nullptr;
  // Of the jitter. Default 0: of this process and time.
  uint64_t seed = 0;
};

// One app's subscription. Destroy it to end it: no call is made to the sink after
// that. Must not outlive its client.
class MapWatch {
 public:
  virtual ~MapWatch() = default;
};

// Thread-safe. One thread and few connections for all apps.
class DiscoveryClient {
 public:
  explicit DiscoveryClient(DiscoveryClientOptions options);
  // REQUIRES: all watches are gone.
  ~DiscoveryClient();
  DiscoveryClient(const DiscoveryClient&) = delete;
  DiscoveryClient& operator=(const DiscoveryClient&) = delete;

  // `known`: the version that the sink holds already.
  std::unique_ptr<MapWatch> Watch(const AppName& app, std::optional<MapVersion> known,
                                  MapSink& sink);

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::wire
