// The control plane's calls to a server, over the simulated network.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/shell/ports.h"
#include "tests/simulation/cell/network.h"
#include "tests/simulation/cell/sim_server.h"

namespace shardmanager::simulation {

struct CallWires {
  Network& network;
  std::shared_ptr<Process> caller;
  std::function<SimServer*(const std::string& endpoint)> server;
  std::function<void(orchestrator::HeldReplica& replica)> measure;
};

void StartCommand(const CallWires& wires, const orchestrator::ServerAddress& to,
                  const orchestrator::ServerCommand& command, Duration timeout,
                  orchestrator::CommandSender::ResultsCallback on_results);

void StartCollect(const CallWires& wires, const orchestrator::ServerAddress& to,
                  orchestrator::CommandSender::ReportCallback on_report);

void StartQuestion(const CallWires& wires, const orchestrator::ServerAddress& to,
                   orchestrator::CommandSender::StatusCallback on_answer);

}  // namespace shardmanager::simulation
