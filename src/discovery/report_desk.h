// Where clients' reports of servers come in, in one process.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "discovery/client_views.h"
#include "discovery/hub.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// The sums of all that is said, by app; and the hub tells all subscribers which servers are
// suspects. Thread-safe.
class ReportDesk {
 public:
  // `hub` must outlive it.
  explicit ReportDesk(Hub& hub);

  // NOT_FOUND: the hub has no map of that app. Other errors as ClientViews::Take.
  absl::Status Take(const v1::ReportServersRequest& report);
  // What is said now, in the name of this process.
  v1::ReportServersRequest Sum(const AppName& app);
  // Servers that clients elsewhere cannot use, instead of those before.
  void SetSuspectsElsewhere(const AppName& app, std::vector<std::string> suspects);

 private:
  struct App {
    ClientViews here;
    std::vector<std::string> elsewhere;
  };

  App& Of(const AppName& app);
  void TellHub(const AppName& name, const App& app);

  Hub& hub_;
  const uint64_t self_;
  std::mutex mutex_;
  std::map<AppName, App> apps_;  // that somebody has asked for, or reported of
};

}  // namespace shardmanager::discovery
