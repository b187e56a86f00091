#include "taskcontroller/describe/delays.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/text.h"

namespace shardmanager::taskcontroller {
namespace {

std::string Names(const Delay& delay, const FleetView& view) {
  const std::string names = absl::StrJoin(
      delay.servers, ", ",
      [&](std::string* out, ServerIndex id) { absl::StrAppend(out, view.server(id).name); });
  return delay.servers.size() < Delay::kMostServersNamed ? names : absl::StrCat(names, ", ...");
}

std::string Text(const Delay& delay, const FleetView& view) {
  const std::string shard =
      delay.shard.valid() ? std::string(view.shards[delay.shard.index()].name) : "";
  switch (delay.reason) {
    case DelayReason::kNotReady:
      return "some servers that have just registered, or that a new leader has just asked, have "
             "not "
             "said yet what they hold";
    case DelayReason::kClosed:
      return delay.text;
    case DelayReason::kUnknownServer:
      return "no server of that name has registered, so there is nothing to stop";
    case DelayReason::kLifeUnknown:
      return "the report does not say which life of the server it means (incarnation: 0); the "
             "answer tells the life that it has now";
    case DelayReason::kLifeNotSeen:
      return "that life of the server has not registered yet; it waits until it does";
    case DelayReason::kFormerLife:
      return "that life of the server is over: an operation is never approved for the next one";
    case DelayReason::kOtherOperation:
      return absl::StrCat("operation ", delay.text, " of the same server goes first");
    case DelayReason::kServerCap:
      return absl::StrCat(Counted(delay.count, "server"), " away, or held for other operations (",
                          Names(delay, view), "): availability.max_unavailable_servers allows ",
                          delay.limit);
    case DelayReason::kShardCap:
      return absl::StrCat(
          "shard ", shard, " has ", Counted(delay.count, "replica"), " and needs ", delay.limit,
          " at least: not there, or in doubt, is what it has on ",
          delay.servers.empty() ? "servers that are yet to be chosen" : Names(delay, view));
    case DelayReason::kConflict:
      return absl::StrCat("shard ", shard, " can spare no more replicas: ", Names(delay, view),
                          delay.servers.size() == 1 ? " goes first" : " go first");
    case DelayReason::kReserved:
      return shard.empty() ? "an older operation goes first"
                           : absl::StrCat("shard ", shard,
                                          " can spare a replica, but it is kept for an older "
                                          "operation");
    case DelayReason::kDraining:
      return absl::StrCat(Counted(delay.count, "replica"),
                          " of the server must be moved, or handed over, first: under way");
    case DelayReason::kInTransition:
      return absl::StrCat(Counted(delay.count, "replica"),
                          " of the server is being added, dropped or changed: almost ready");
    case DelayReason::kLapsed:
      return "its approval was not used in time: others go first";
    case DelayReason::kStalled:
      return "what has to leave its server does not get on (`shardctl explain` of a shard there "
             "says why): others go first";
    case DelayReason::kPreparedAlone:
      return absl::StrCat("the server of operation ", delay.text,
                          " is emptied now; one of the two could not be emptied beside others, so "
                          "it is emptied alone");
    case DelayReason::kTooManyUnderWay:
      return absl::StrCat(delay.count,
                          " operations of the app are under way, and the record of more would be "
                          "too large");
  }
  return "";
}

const char* WhatEnds(DelayReason reason) {
  switch (reason) {
    case DelayReason::kNotReady:
      return "all live servers have said what they hold: a few seconds";
    case DelayReason::kClosed:
      return "the app is resumed (`shardctl resume app`), if it is paused; never, if it is deleted";
    case DelayReason::kUnknownServer:
      return "a server of that name registers";
    case DelayReason::kLifeUnknown:
      return "its manager reports which life it means";
    case DelayReason::kLifeNotSeen:
      return "that life of the server registers";
    case DelayReason::kFormerLife:
      return "nothing: its manager has to report another operation";
    case DelayReason::kOtherOperation:
      return "the other operation is finished, or its manager gives it up";
    case DelayReason::kServerCap:
      return "one of the servers named is back, or its operation is over; or a higher "
             "availability.max_unavailable_servers";
    case DelayReason::kShardCap:
      return "a replica of the shard that is down, loads or moves serves again";
    case DelayReason::kConflict:
      return "the operations that go first are over";
    case DelayReason::kReserved:
      return "the older operation is over, or is given up";
    case DelayReason::kDraining:
      return "the replicas have left the server";
    case DelayReason::kInTransition:
      return "the changes under way on the server are done";
    case DelayReason::kLapsed:
    case DelayReason::kStalled:
      return "the next decision: within seconds, after those that wait";
    case DelayReason::kPreparedAlone:
      return "the operation named may begin, or does not get on for two minutes";
    case DelayReason::kTooManyUnderWay:
      return "some of the operations under way are over";
  }
  return "";
}

}  // namespace

std::string_view NameOf(DelayReason reason) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"NotReady", "Closed", "UnknownServer", "LifeUnknown", "LifeNotSeen", "FormerLife",
       "OtherOperation", "ServerCap", "ShardCap", "Conflict", "Reserved", "Draining",
       "InTransition", "Lapsed", "Stalled", "PreparedAlone", "TooManyUnderWay"});
  static_assert(kNames.size() == static_cast<size_t>(DelayReason::kTooManyUnderWay) + 1);
  return kNames[static_cast<size_t>(reason)];
}

std::string_view NameOf(NoteKind kind) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"OperationPreparing", "OperationApproved", "OperationForced",
                                       "OperationBegun", "OperationFinished", "OperationLapsed",
                                       "OperationWithdrawn", "OperationStalled", "OperationEnded"});
  static_assert(kNames.size() == static_cast<size_t>(NoteKind::kOperationEnded) + 1);
  return kNames[static_cast<size_t>(kind)];
}

v1::OperationDelay Describe(const Delay& delay, const FleetView& view) {
  v1::OperationDelay described;
  described.set_reason(std::string(NameOf(delay.reason)));
  described.set_message(Text(delay, view));
  described.set_ends_when(WhatEnds(delay.reason));
  for (const ServerIndex id : delay.servers) described.add_servers(view.server(id).name);
  if (delay.shard.valid()) {
    described.set_shard(std::string(view.shards[delay.shard.index()].name));
  }
  return described;
}

v1::OperationAnswer DescribeAnswer(const std::string& id, const OperationInfo& info,
                                   const Outcome& outcome, Duration use_within,
                                   const FleetView& view) {
  v1::OperationAnswer answer;
  answer.set_id(id);
  answer.set_verdict(outcome.verdict);
  for (const Delay& delay : outcome.delays) *answer.add_delays() = Describe(delay, view);
  if (outcome.verdict == v1::OPERATION_APPROVED) {
    answer.set_use_within_ms(static_cast<uint64_t>(use_within / Milliseconds(1)));
  }
  const ServerIndex server = view.Find(info.server);
  if (server.valid()) {
    answer.set_incarnation(view.server(server).incarnation.value());
    answer.set_process(view.server(server).process);
  }
  answer.set_replicas_to_drain(outcome.left);
  return answer;
}

}  // namespace shardmanager::taskcontroller
