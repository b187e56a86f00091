#include "model/session_terms.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace shardmanager {
namespace {

std::string Show(Duration duration) {
  return absl::StrCat(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(),
                      " ms");
}

std::string WhatWasGranted(const SessionTerms& terms, Duration granted) {
  return absl::StrCat("the cell asks ZooKeeper for sessions of ", Show(terms.timeout),
                      " and was granted ", Show(granted));
}

std::string LeaseOf(const SessionTerms& terms, Duration granted) {
  return absl::StrCat("a lease would last ", Show(LeaseLength(granted, terms.tick)),
                      " (the session less two ticks of ", Show(terms.tick), " and 1%)");
}

constexpr char kForANewCell[] =
    "a cell keeps the --session-timeout-ms and --zookeeper-tick-ms that it was made with; for a "
    "new cell set these two instead";

}  // namespace

absl::Status CheckGranted(const SessionTerms& terms, Duration granted) {
  if (granted < terms.timeout) {
    return absl::FailedPreconditionError(
        absl::StrCat(WhatWasGranted(terms, granted), ": ", LeaseOf(terms, granted),
                     ". ZooKeeper's maxSessionTimeout (20 x tickTime unless it is set) is ",
                     Show(granted), ": set it to ", Show(terms.timeout),
                     " or more, or set tickTime to ", Show(terms.tick), "; ", kForANewCell));
  }
  if (granted > terms.timeout) {
    return absl::FailedPreconditionError(
        absl::StrCat(WhatWasGranted(terms, granted),
                     ". ZooKeeper's minSessionTimeout (2 x tickTime unless it is set) is ",
                     Show(granted), ": set tickTime to ", Show(terms.tick), "; ", kForANewCell));
  }
  const Duration renewal = granted / kRenewalsPerTimeout;
  if (LeaseLength(granted, terms.tick) < terms.tick + renewal) {
    return absl::FailedPreconditionError(
        absl::StrCat(WhatWasGranted(terms, granted), ": ", LeaseOf(terms, granted),
                     ", less than the ", Show(terms.tick + renewal), " that a renewal may need; ",
                     kForANewCell, ", a session of four ticks at least"));
  }
  return absl::OkStatus();
}

absl::Status CheckTick(Duration tick, Duration granted) {
  const Duration asked = ShortestSession(tick);
  if (granted <= asked) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "asked for a session of ", Show(asked), ", ZooKeeper granted ", Show(granted),
      ", so its tickTime is ", Show(granted / 2), ", not the ", Show(tick),
      " of the cell: a lease could outlive its session, and a shard have two primaries. Set "
      "tickTime to ",
      Show(tick), "; ", kForANewCell,
      ". If tickTime is right and minSessionTimeout was set by hand, start shardmanagerd with "
      "--min-session-timeout-is-set"));
}

}  // namespace shardmanager
