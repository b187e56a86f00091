// How the clients of an app get on with its servers, added up over all who report
// (discovery.proto, ReportServers).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/time.h"
#include "model/server_view.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// Of one app, at one publisher: a relay passes the sums on, the leader acts on them. A report costs
// what it names. Not thread-safe.
class ClientViews {
 public:
  // More would be a mistake, or meant to harm.
  static constexpr size_t kMostReporters = 100'000;
  static constexpr size_t kMostEntries = 1'000'000;  // of all reports together
  static constexpr size_t kMostServers = 10'000;     // named in them, and in one
  static constexpr size_t kMostSuspects = 1'000;
  static constexpr size_t kMostThrough = 1'000;

  // `self`: the number by which this publisher reports itself.
  explicit ClientViews(uint64_t self) : self_(self) {}

  // Takes the place of the reporter's last one. INVALID_ARGUMENT: names the field.
  // RESOURCE_EXHAUSTED: too many others report. A report that has passed through `self` is left
  // out, which is no error.
  absl::Status Take(TimePoint now, const v1::ReportServersRequest& report);
  // Those that have not said anything for kReportCounts count no more.
  void Forget(TimePoint now);

  // As of the last Take() or Forget(). What this publisher itself reports: all sums, ascending by
  // server.
  v1::ReportServersRequest Sum() const;
  // Servers that somebody is in trouble with, ascending; the first kMostSuspects.
  std::vector<std::string> Suspects() const;
  size_t reporters() const { return reports_.size(); }

 private:
  struct Report {
    TimePoint until;
    std::vector<std::pair<std::string, ServerView>> servers;
    std::vector<uint64_t> through;
  };

  absl::Status Check(const v1::ReportServersRequest& report) const;
  void Add(const Report& report);
  void TakeOut(uint64_t reporter);

  const uint64_t self_;
  absl::flat_hash_map<uint64_t, Report> reports_;        // by reporter
  std::deque<std::pair<TimePoint, uint64_t>> renewals_;  // until when, and by whom; ascending
  size_t entries_ = 0;
  std::map<std::string, ServerView> sums_;  // that are not zero
  std::map<uint64_t, uint32_t> through_;    // and how many reports name it
};

}  // namespace shardmanager::discovery
