#include "security/limits.h"

namespace shardmanager::security {

std::string_view NameOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoIdentity:
      return "no_identity";
    case Refusal::kNoRole:
      return "no_role";
    case Refusal::kCallRate:
      return "call_rate";
    case Refusal::kCallsAtOnce:
      return "calls_at_once";
    case Refusal::kStreams:
      return "streams";
    case Refusal::kSlowReader:
      return "slow_reader";
  }
  return "unknown";
}

Limits::Limits() : Limits(Options{}) {}
Limits::Limits(const Options& options)
    : rates_(options.calls_per_s),
      calls_(options.calls_at_once, "calls under way", "--calls-at-once of shardmanagerd"),
      streams_(options.streams, "streams of shard maps", "--streams") {}

absl::StatusOr<OpenCounts::Open> Limits::BeginCall(const std::string& who, TimePoint now) {
  if (absl::Status in_time = rates_.Take(who, now); !in_time.ok()) {
    Count(Refusal::kCallRate);
    return in_time;
  }
  auto call = calls_.Begin(who);
  if (!call.ok()) Count(Refusal::kCallsAtOnce);
  return call;
}

absl::StatusOr<OpenCounts::Open> Limits::BeginStream(const std::string& who) {
  auto stream = streams_.Begin(who);
  if (!stream.ok()) Count(Refusal::kStreams);
  return stream;
}

}  // namespace shardmanager::security
