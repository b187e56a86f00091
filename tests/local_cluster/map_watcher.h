// What a discovery subscriber sees: written against the protocol alone
// (discovery.proto), so it also checks those who speak it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc
namespace shardmanager::v1 {
class MapDelta;
class MapServer;
class MapShard;
class MapSnapshot;
class WatchResponse;
}  // namespace shardmanager::v1

namespace shardmanager::local {

// One app's shard map at one moment.
struct MapView {
  std::pair<uint64_t, uint64_t> version;  // leader epoch, sequence
  int64_t cell_made_ms = 0;               // of that version, too
  std::map<uint32_t, std::string> servers;
  struct Shard {
    std::string id;
    std::vector<uint32_t> servers;  // that serve it now
  };
  std::vector<Shard> shards;
  TimePoint changed;  // when the last update came

  size_t served() const;
  bool all_served() const { return !shards.empty() && served() == shards.size(); }
  // Shards by server name; servers without shards are left out.
  std::map<std::string, size_t> counts() const;
  // So many servers serve everything, and none has less than its share.
  bool balanced(size_t servers) const;
  std::string Describe() const;  // for messages: what is not served, who serves
};

// Subscribes in a thread of its own, again and again if the stream breaks.
// Thread-safe.
class MapWatcher {
 public:
  MapWatcher(std::shared_ptr<grpc::Channel> discovery, std::string app);
  ~MapWatcher();

  MapView view() const;
  // Waits until the map is so; false when `timeout` is over first. `seen` (may be
  // null) gets the map that was so.
  bool WaitFor(const std::function<bool(const MapView&)>& wanted, std::chrono::milliseconds timeout,
               MapView* seen = nullptr) const;

 private:
  void Run();
  void ReadStream(grpc::ClientContext& context);
  // False: the update does not fit; the subscription must start afresh.
  bool Apply(const v1::WatchResponse& response);
  bool ApplySnapshot(const v1::MapSnapshot& snapshot);
  bool ApplyDelta(const v1::MapDelta& delta);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string app_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  MapView view_;
  MapView incoming_;  // parts of a snapshot that is not complete yet
  grpc::ClientContext* current_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace shardmanager::local
