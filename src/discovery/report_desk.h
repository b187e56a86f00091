// Where the reports of clients come in, in one process.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "discovery/client_views.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// ClientViews behind a lock, on this process's clock; and what a publisher further up has said.
class ReportDesk {
 public:
  // Errors as ClientViews::Take.
  absl::StatusOr<v1::ReportServersResponse> Take(const v1::ReportServersRequest& report);
  std::vector<v1::ServerSeen> Sum(const AppName& app);
  // Servers that clients elsewhere are in trouble with, instead of those before.
  void SetSuspectsElsewhere(const AppName& app, std::vector<std::string> suspects);

 private:
  std::mutex mutex_;
  ClientViews views_;
  std::map<std::string, std::vector<std::string>> elsewhere_;  // by app
};

}  // namespace shardmanager::discovery
