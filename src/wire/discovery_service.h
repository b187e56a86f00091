// Discovery.Watch over a discovery::Hub, and ReportServers. Subscribers cost no thread.
#pragma once

#include <memory>
#include <vector>

#include "base/time.h"
#include "discovery/hub.h"
#include "discovery/report_desk.h"
#include "model/map_reach.h"
#include "wire/access/gate.h"
#include "wire/bulk_gate.h"

namespace grpc {
class ServerBuilder;
class Service;
}  // namespace grpc

namespace shardmanager::v1 {
class RelayStatus;
}  // namespace shardmanager::v1

namespace shardmanager::wire {

class DiscoveryService {
 public:
  struct Options {
    // A subscriber that was sent nothing for so long gets a heartbeat.
    Duration heartbeat = kMapHeartbeat;
    // A subscriber that takes nothing of a message for so long is cut off: it does not read, though
    // its connection lives.
    Duration slow = Seconds(60);
    // Of whole maps and large changes. Small messages are never held up.
    BulkLimits bulk = {};
    // Where clients' reports go; must outlive this. Default: none, reports are UNIMPLEMENTED.
    discovery::ReportDesk* reports = nullptr;
    // REQUIRED. Who may ask.
    Gate gate;
  };

  // `hub` must outlive this.
  DiscoveryService(discovery::Hub& hub, Options options);
  // REQUIRES: the gRPC server that it was registered with is gone.
  ~DiscoveryService();
  DiscoveryService(const DiscoveryService&) = delete;
  DiscoveryService& operator=(const DiscoveryService&) = delete;

  // For grpc::ServerBuilder::RegisterService.
  grpc::Service* service();

  // Subscribers that pass maps on to others, by name: as far as they are sent what there is.
  std::vector<v1::RelayStatus> Relays() const;

  // Subscribers that wait for their turn to be sent a large message.
  size_t waiting() const;

  // Ends all streams and refuses new ones, so that subscribers turn elsewhere at
  // once. Call it before grpc::Server::Shutdown(), which waits for streams.
  void EndStreams();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// What a server of long-lived streams needs: finds subscribers that vanished without
// a word, tolerates the pings of those that look for us, bounds what one connection takes, closes
// connections that are not used (after 10 minutes without a call), and does not share its port with
// another process (a taken port is an error, not half the connections).
void PrepareForSubscribers(grpc::ServerBuilder& builder);

}  // namespace shardmanager::wire
