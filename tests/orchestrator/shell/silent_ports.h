// For a controller that is looked at alone: servers that never answer, and clients that nobody
// hears.
#pragma once

#include <set>
#include <string>

#include "orchestrator/shell/ports.h"

namespace shardmanager::orchestrator {

class NoServers final : public CommandSender {
  void Send(const ServerAddress&, ServerCommand, Duration, ResultsCallback) override {}
  void Collect(const ServerAddress&, ReportCallback) override {}
  void AskReshape(const ServerAddress&, const v1::Reshape&, StatusCallback) override {}
};

class NoClients final : public MapPublisher {
 public:
  // What clients would have been told of the apps that there are: "cell: app app"; "": nothing.
  std::string told_apps;

 private:
  void Publish(const AppName&, v1::MapSnapshot) override {}
  void Publish(const AppName&, v1::MapDelta) override {}
  void KnowApps(const std::string& cell, std::set<std::string> apps) override {
    told_apps = cell + ":";
    for (const std::string& app : apps) told_apps += " " + app;
  }
  void ForgetApps() override { told_apps.clear(); }
};

}  // namespace shardmanager::orchestrator
