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

std::string ShardName(const Delay& delay, const FleetView& view) {
  return delay.shard.valid() ? std::string(view.shards[delay.shard.index()].name) : "";
}

// ---- Messages with figures ----

std::string Given(const Delay& delay, const FleetView&) { return delay.text; }

std::string AfterTheOther(const Delay& delay, const FleetView&) {
  return absl::StrCat("operation ", delay.text, " of the same server goes first");
}

std::string TooManyServersAway(const Delay& delay, const FleetView& view) {
  return absl::StrCat(Counted(delay.count, "server"), " away, or held for other operations (",
                      Names(delay, view), "): availability.max_unavailable_servers allows ",
                      delay.limit);
}

std::string TooFewReplicas(const Delay& delay, const FleetView& view) {
  return absl::StrCat(
      "shard ", ShardName(delay, view), " has ", Counted(delay.count, "replica"), " and needs ",
      delay.limit, " at least: not there, or in doubt, is what it has on ",
      delay.servers.empty() ? "servers that are yet to be chosen" : Names(delay, view));
}

std::string OthersOfTheShardFirst(const Delay& delay, const FleetView& view) {
  return absl::StrCat("shard ", ShardName(delay, view),
                      " can spare no more replicas: ", Names(delay, view),
                      delay.servers.size() == 1 ? " goes first" : " go first");
}

std::string KeptForAnOlderOne(const Delay& delay, const FleetView& view) {
  if (!delay.shard.valid()) return "an older operation goes first";
  return absl::StrCat("shard ", ShardName(delay, view),
                      " can spare a replica, but it is kept for an older operation");
}

std::string StillToLeave(const Delay& delay, const FleetView&) {
  return absl::StrCat(Counted(delay.count, "replica"),
                      " of the server must be moved, or handed over, first: under way");
}

std::string StaysThere(const Delay& delay, const FleetView& view) {
  return absl::StrCat("shard ", ShardName(delay, view),
                      " is pinned to the server, and has to leave it before the operation");
}

std::string AlmostReady(const Delay& delay, const FleetView&) {
  return absl::StrCat(Counted(delay.count, "replica"),
                      " of the server is being added, dropped or changed: almost ready");
}

std::string OneIsEmptiedAlone(const Delay& delay, const FleetView&) {
  return absl::StrCat("the server of operation ", delay.text,
                      " is emptied now; one of the two could not be emptied beside others, so it "
                      "is emptied alone");
}

std::string RecordIsFull(const Delay& delay, const FleetView&) {
  return absl::StrCat(delay.count,
                      " operations of the app are under way, and the record of more would be too "
                      "large");
}

// ---- All reasons ----

struct Words {
  DelayReason reason;
  std::string_view name;
  // Where the message has figures it is made by `figures`, else it is `message`.
  std::string_view message;
  std::string_view ends_when;
  std::string (*figures)(const Delay& delay, const FleetView& view) = nullptr;
};

constexpr auto kWords = std::to_array<Words>({
    {DelayReason::kNotReady, "NotReady",
     "some servers that have just registered, or that a new leader has just asked, have not said "
     "yet what they hold",
     "all live servers have said what they hold: a few seconds"},
    {DelayReason::kClosed, "Closed", "",
     "the app is resumed (`shardctl resume app`), if it is paused; never, if it is deleted", Given},
    {DelayReason::kUnknownServer, "UnknownServer",
     "no server of that name has registered, so there is nothing to stop",
     "a server of that name registers"},
    {DelayReason::kLifeUnknown, "LifeUnknown",
     "the report does not say which life of the server it means (incarnation: 0); the answer tells "
     "the life that it has now",
     "its manager reports which life it means"},
    {DelayReason::kLifeNotSeen, "LifeNotSeen",
     "that life of the server has not registered yet; it waits until it does",
     "that life of the server registers"},
    {DelayReason::kFormerLife, "FormerLife",
     "that life of the server is over: an operation is never approved for the next one",
     "nothing: its manager has to report another operation"},
    {DelayReason::kOtherOperation, "OtherOperation", "",
     "the other operation is finished, or its manager gives it up", AfterTheOther},
    {DelayReason::kServerCap, "ServerCap", "",
     "one of the servers named is back, or its operation is over; or a higher "
     "availability.max_unavailable_servers",
     TooManyServersAway},
    {DelayReason::kShardCap, "ShardCap", "",
     "a replica of the shard that is down, loads or moves serves again", TooFewReplicas},
    {DelayReason::kConflict, "Conflict", "", "the operations that go first are over",
     OthersOfTheShardFirst},
    {DelayReason::kReserved, "Reserved", "", "the older operation is over, or is given up",
     KeptForAnOlderOne},
    {DelayReason::kDraining, "Draining", "", "the replicas have left the server", StillToLeave},
    {DelayReason::kPinned, "Pinned", "", "the shard is unpinned (`shardctl unpin shard`)",
     StaysThere},
    {DelayReason::kInTransition, "InTransition", "", "the changes under way on the server are done",
     AlmostReady},
    {DelayReason::kLapsed, "Lapsed", "its approval was not used in time: others go first",
     "the next decision: within seconds, after those that wait"},
    {DelayReason::kStalled, "Stalled",
     "what has to leave its server does not get on (`shardctl explain` of a shard there says why): "
     "others go first",
     "the next decision: within seconds, after those that wait"},
    {DelayReason::kPreparedAlone, "PreparedAlone", "",
     "the operation named may begin, or does not get on for two minutes", OneIsEmptiedAlone},
    {DelayReason::kTooManyUnderWay, "TooManyUnderWay", "",
     "some of the operations under way are over", RecordIsFull},
    {DelayReason::kMapMissing, "MapMissing", "",
     "the app's own orchestrator supplies its shard map (TaskControl.SupplyMap)", Given},
});

constexpr bool IsComplete() {
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (kWords[i].reason != static_cast<DelayReason>(i)) return false;
  }
  return kWords.size() == static_cast<size_t>(DelayReason::kMapMissing) + 1;
}
static_assert(IsComplete(), "a row for each reason, in their order");

const Words& WordsOf(DelayReason reason) { return kWords[static_cast<size_t>(reason)]; }

std::string Text(const Delay& delay, const FleetView& view) {
  const Words& words = WordsOf(delay.reason);
  return words.figures == nullptr ? std::string(words.message) : words.figures(delay, view);
}

}  // namespace

std::string_view NameOf(DelayReason reason) { return WordsOf(reason).name; }

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
  described.set_ends_when(std::string(WordsOf(delay.reason).ends_when));
  for (const ServerIndex id : delay.servers) described.add_servers(view.server(id).name);
  described.set_shard(ShardName(delay, view));
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
