// A control-plane process: the real controller and all that it drives, with simulated
// wires to servers and subscribers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/control/controller.h"
#include "tests/simulation/cell/sim_feed.h"
#include "tests/simulation/cell/sim_server.h"

namespace shardmanager::simulation {

// One life. Destroyed: killed, if it was not stopped.
class SimControl {
 public:
  struct Context {
    Network& network;
    StorePump& store;
    // The life that listens there; null: none.
    std::function<SimServer*(const std::string& endpoint)> server;
    std::function<SimControl*(const std::string& host)> control;
    // Adds what a replica that serves has measured to a report.
    std::function<void(orchestrator::HeldReplica& replica)> measure;
    std::function<std::vector<v1::ServerSeen>()> clients_say = nullptr;
  };

  SimControl(Context context, std::shared_ptr<Process> process, v1::CellConfig cell);
  ~SimControl();
  SimControl(const SimControl&) = delete;
  SimControl& operator=(const SimControl&) = delete;

  // Resigns and ends the session, as on SIGTERM.
  void Stop();

  const std::shared_ptr<Process>& process() const { return process_; }
  orchestrator::Controller& controller() { return *controller_; }
  SimFeed& feed() { return feed_; }

 private:
  class Sender;
  class Publisher;

  // While another process leads, its maps are passed on.
  void Follow(const std::string& leader);

  const Context context_;
  const std::shared_ptr<Process> process_;
  const std::unique_ptr<CoordinationStoreFactory> stores_;
  orchestrator::EventLog events_{64};
  SimFeed feed_;
  std::unique_ptr<SimSubscriber> upstream_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Publisher> publisher_;
  bool stopped_ = false;
  std::unique_ptr<orchestrator::Controller> controller_;
};

}  // namespace shardmanager::simulation
