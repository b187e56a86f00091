// How the clients of an app get on with its servers, added up over all who report.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/time.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// Of one publisher: a relay passes the sums on, the leader acts on them. Not thread-safe.
class ClientViews {
 public:
  // A report counts for so long, if no other one of the same reporter comes.
  static constexpr Duration kHolds = Seconds(30);
  // Of one app. More would be a mistake, or meant to harm.
  static constexpr size_t kMostReporters = 100'000;

  // Takes the place of the reporter's last one. INVALID_ARGUMENT: names the field.
  // RESOURCE_EXHAUSTED: too many others report.
  absl::Status Take(TimePoint now, const v1::ReportServersRequest& report);

  // Of the app's servers that somebody speaks of, ascending by name.
  std::vector<v1::ServerSeen> Sum(TimePoint now, const std::string& app);
  // Those of them that somebody is in trouble with.
  std::vector<std::string> Suspects(TimePoint now, const std::string& app);
  // Apps of which somebody reports, ascending.
  std::vector<std::string> Apps(TimePoint now);

 private:
  struct Report {
    TimePoint until;
    std::vector<v1::ServerSeen> servers;
  };
  using Reports = absl::flat_hash_map<std::string, Report>;  // by reporter

  static void ForgetOld(TimePoint now, Reports& reports);

  std::map<std::string, Reports> apps_;
};

}  // namespace shardmanager::discovery
