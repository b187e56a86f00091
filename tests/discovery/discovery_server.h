// A publisher of shard maps and a subscriber, over loopback, for tests.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "discovery/hub.h"
#include "tests/discovery/test_maps.h"
#include "wire/discovery_client.h"
#include "wire/discovery_service.h"

namespace grpc {
class Server;
}

namespace shardmanager::discovery {

// Serves a hub on 127.0.0.1. The hub is the caller's: it outlives a restart.
class DiscoveryServer {
 public:
  // Port 0: a free one.
  explicit DiscoveryServer(Hub& hub, int port = 0,
                           wire::DiscoveryService::Options options = {
                               .heartbeat = Milliseconds(50), .gate = wire::Gate::OfAnOpenCell()});
  ~DiscoveryServer();  // ends all streams

  int port() const { return port_; }
  const wire::DiscoveryService& service() const { return service_; }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  wire::DiscoveryService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Quick to notice and to come back.
wire::DiscoveryClientOptions QuickClient(std::vector<std::string> endpoints);

// Keeps a plain map of what it gets.
class RecordingSink final : public wire::MapSink {
 public:
  void OnSnapshot(WholeMap whole) override;
  bool OnDelta(v1::MapDelta delta) override;
  void OnStale(bool stale) override;
  void OnFreshness(Freshness freshness) override;
  void OnNoSuchApp(const std::string& cell) override;
  void OnStreamState(const absl::Status& status) override;

  // As if it did not fit the map.
  void RefuseNextDelta();

  // Wait for it, but not for ever.
  bool AwaitVersion(MapVersion version);
  bool AwaitConnected();
  // So often, since it was made.
  bool AwaitLost(int losses = 1);
  bool AwaitFreshness(Freshness freshness);
  bool AwaitNoSuchApp(const std::string& cell);
  bool AwaitStale(bool stale);

  std::vector<std::string> Shards() const;
  int snapshots() const;
  int deltas() const;
  int losses() const;
  std::string last_loss() const;
  absl::StatusCode loss_code() const;
  std::string no_such_app_in() const;
  bool nobody_was_sure() const;
  bool stale() const;

 private:
  template <typename Condition>
  bool Await(Condition condition);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PlainMap map_;
  int snapshots_ = 0;
  int deltas_ = 0;
  bool connected_ = false;
  bool stale_ = false;
  bool refuses_ = false;
  int losses_ = 0;
  std::string last_loss_;
  absl::StatusCode loss_code_ = absl::StatusCode::kOk;
  std::string no_such_app_in_;
  Freshness freshness_ = Freshness::kAsking;
  bool nobody_was_sure_ = false;
};

}  // namespace shardmanager::discovery
