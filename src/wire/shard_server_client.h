// The orchestrator's CommandSender over gRPC (shard_server.proto).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "orchestrator/shell/ports.h"
#include "shardmanager/v1/shard_server.pb.h"
#include "wire/transport.h"

namespace shardmanager::wire {

// One connection for each server endpoint, kept while it is in use: servers take other
// ports in each of their lives. Calls cost no thread. Destroying it cancels the calls
// under way; none of their callbacks comes afterwards.
class ShardServerClient final : public orchestrator::CommandSender {
 public:
  struct Options {
    // A connection without a call for so long is dropped. Every live server is asked
    // what it holds each 30 s.
    Duration keep_unused = Seconds(120);
    // A server from which a call has heard nothing for `ping_after` is asked for a sign of life;
    // without one for `give_up` the call fails as unreachable, long before its own time-out: what
    // was sent may be lost. At least one second and one millisecond.
    Duration ping_after = Seconds(10);
    Duration give_up = Seconds(5);
    // REQUIRED. How they are connected to: nobody but the server that registered is.
    std::shared_ptr<const Transport> transport = nullptr;
  };

  explicit ShardServerClient(Options options);
  ~ShardServerClient() override;

  void Send(const orchestrator::ServerAddress& to, orchestrator::ServerCommand command,
            Duration timeout, ResultsCallback on_results) override;
  void Collect(const orchestrator::ServerAddress& to, ReportCallback on_report) override;
  void AskReshape(const orchestrator::ServerAddress& to, const v1::Reshape& reshape,
                  StatusCallback on_answer) override;

  // How many are kept now.
  size_t connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// An answer as the core takes it; of the server and of each shard so many metrics at most as a spec
// may have.
orchestrator::Holdings ToHoldings(const v1::CollectLoadResponse& response);

}  // namespace shardmanager::wire
