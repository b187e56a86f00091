// For a controller that is looked at alone: servers that never answer, and clients that nobody
// hears.
#pragma once

#include "orchestrator/shell/ports.h"

namespace shardmanager::orchestrator {

class NoServers final : public CommandSender {
  void Send(const ServerAddress&, ServerCommand, Duration, ResultsCallback) override {}
  void Collect(const ServerAddress&, ReportCallback) override {}
};

class NoClients final : public MapPublisher {
  void Publish(const AppName&, v1::MapSnapshot) override {}
  void Publish(const AppName&, v1::MapDelta) override {}
};

}  // namespace shardmanager::orchestrator
