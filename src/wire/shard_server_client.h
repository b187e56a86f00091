// The orchestrator's CommandSender over gRPC (shard_server.proto).
#pragma once

#include <memory>

#include "orchestrator/ports.h"

namespace shardmanager::wire {

// One channel for each server endpoint, kept while it is in use. Calls cost no
// thread. Destroying it cancels the calls under way; none of their callbacks comes
// afterwards.
class ShardServerClient final : public orchestrator::CommandSender {
 public:
  ShardServerClient();
  ~ShardServerClient() override;

  void Send(const orchestrator::ServerAddress& to, orchestrator::CommandKind kind,
            std::vector<orchestrator::NamedGrant> grants, Duration timeout,
            ResultsCallback on_results) override;
  void Collect(const orchestrator::ServerAddress& to, ReportCallback on_report) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::wire
