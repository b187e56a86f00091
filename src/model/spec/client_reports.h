// What follows from clients' reports of servers. The one place that knows the rules written on
// ClientReportPolicy in app_spec.proto.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "model/spec/availability.h"
#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

struct ClientReportRules {
  bool drain = true;
  uint32_t min_clients = 3;
  Duration patience = Seconds(30);
  CountOrPercent max_servers{10, true};

  // Of so many live servers, how many may be drained because of clients: one always stays.
  size_t Most(size_t live) const;
};
// REQUIRES: the spec is valid.
ClientReportRules RulesOf(const v1::ClientReportPolicy& policy);

void CheckClientReports(const v1::ClientReportPolicy& policy, SpecProblems* problems);

}  // namespace shardmanager
