// Shard maps on their way: the publisher's and the subscriber's cores of discovery,
// with simulated streams between them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "discovery/map_feed.h"
#include "discovery/map_receiver.h"
#include "discovery/reconnect_policy.h"
#include "tests/simulation/cell/network.h"

namespace shardmanager::simulation {

// The publisher's end, in one process.
class SimFeed {
 public:
  using Deliver = std::function<void(v1::WatchResponse)>;

  SimFeed(Network& network, std::shared_ptr<Process> process);

  // False: it does not fit what was published before.
  bool Publish(const v1::MapSnapshot& map);
  bool Publish(const v1::MapDelta& delta);
  // Discovery's Heartbeat.stale: this process, or its publisher, may not have the newest.
  void SetStale(bool stale);
  void SetUpstreamStale(bool stale);
  std::optional<MapVersion> version() const { return feed_.version(); }
  bool stale() const { return feed_.stale(); }

  // A stream: messages reach `to` one after another, until either end goes.
  void Open(std::shared_ptr<Process> to, std::optional<MapVersion> known,
            std::weak_ptr<Deliver> deliver);
  const std::shared_ptr<Process>& process() const { return process_; }

 private:
  struct Stream {
    std::shared_ptr<Process> to;
    std::optional<MapVersion> at;
    std::weak_ptr<Deliver> deliver;
    TimePoint last_arrival{};
    bool broken = false;
  };

  bool PushIf(const discovery::Verdict& verdict);
  void Push();
  void Beat();
  void UpdateStale();
  void Send(const std::shared_ptr<Stream>& stream, const discovery::Message& message);

  Network& network_;
  const std::shared_ptr<Process> process_;
  discovery::MapFeed feed_;
  bool stale_ = false;
  bool upstream_stale_ = false;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// The subscriber's end.
class SimSubscriber {
 public:
  struct Options {
    // Where to look, in turn. Null: nobody is there now.
    std::vector<std::function<SimFeed*()>> publishers;
    // False: it cannot be used; begin again with a snapshot.
    std::function<bool(const v1::MapSnapshot&)> on_snapshot;
    std::function<bool(const v1::MapDelta&)> on_delta;
    // The version that it has by now.
    std::function<std::optional<MapVersion>()> held;
    // The publisher says that a newer map may exist, or that is over. May be empty.
    std::function<void(bool stale)> on_stale;
    // A relay comes back at once though it has a map, as wire::DiscoveryRelay does.
    bool is_relay = false;
  };

  SimSubscriber(Network& network, std::shared_ptr<Process> process, Options options);

 private:
  void Connect();
  void Fail();
  void Receive(v1::WatchResponse response);
  void TakeStale(bool stale);
  void CheckSilence(uint64_t stream);

  Network& network_;
  const std::shared_ptr<Process> process_;
  const Options options_;
  discovery::MapReceiver receiver_;
  discovery::ReconnectPolicy policy_;
  std::shared_ptr<SimFeed::Deliver> deliver_;
  uint64_t stream_ = 0;
  TimePoint heard_{};
};

}  // namespace shardmanager::simulation
