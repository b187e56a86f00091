// What goes into a Partition (events) and comes out of it (actions).
//
// Dense ids in events are ones that the partition handed out in an action; names
// are used where something may be seen for the first time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allocator/allocator.h"
#include "base/dense_id.h"
#include "base/time.h"
#include "model/command_kind.h"
#include "model/maintenance.h"
#include "model/replica_phase.h"
#include "model/server_order.h"
#include "model/supplied_map.h"
#include "orchestrator/state/load/skew.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/app_spec.pb.h"
#include "shardmanager/v1/stored.pb.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager::orchestrator {

// ---- events ----

struct MetricAmount {
  std::string metric;
  double amount = 0;
};

// One life of a server, as its live node says.
struct ServerLife {
  std::string name;
  Incarnation incarnation;
  std::string endpoint;
  FaultDomain fault_domain;
  uint32_t capacity = 0;
  // What it registered that it can carry, by metric.
  std::vector<MetricAmount> metric_capacity = {};
  // Its live record cannot be read: only name and incarnation are known. It lives, and
  // holds what it holds; but it cannot be reached.
  bool unread = false;
  std::string process = {};  // "host/pid"
};

struct StoredReplica {
  std::string shard;
  Role role;
  ShardEpoch epoch;
  Phase phase;
  uint32_t member_life = 0;  // as Replica::member_life
};

struct StoredServer {
  std::string name;
  int32_t registration_version = 0;  // of the server's znode
  bool departed = false;
  bool forgotten = false;
  std::optional<ServerLife> live;
  // Its last life, and where that stood, as far as they are known; 0: not.
  Incarnation last_life = Incarnation(0);
  FaultDomain last_place = {};
  std::vector<StoredReplica> assignment;
  // Its assignment record cannot be read: what it holds is unknown. See decide/unread.h.
  bool unread = false;
};

// What operators ordered beside the spec: all that holds now.
struct OperatorOrders {
  std::vector<v1::Drain> drains;
  std::optional<v1::Pause> pause;                // see decide/pause.h
  std::vector<v1::Pin> pins;                     // likewise
  std::vector<PlannedMaintenance> maintenances;  // see decide/drains.h
  v1::StoredPreferences preferences = {};        // see model/region_preferences.h
  std::vector<v1::Reshape> reshapes = {};        // see decide/keys/replacements.h
};

// First event: everything the store knows. Sent once.
struct Recovered {
  v1::AppSpec spec;
  bool deleting = false;
  std::vector<StoredServer> servers;
  OperatorOrders ordered = {};
};

// `spec` is valid and has its defaults (model/spec/spec_validation.h). Repeats change nothing.
struct SpecChanged {
  v1::AppSpec spec;
  bool deleting = false;
  OperatorOrders ordered = {};
};

// A life of a server is there. Repeats change nothing.
struct ServerUp {
  ServerLife life;
};

// That life is over: its live node is gone, so its lease has lapsed.
struct ServerDown {
  std::string name;
  Incarnation incarnation;
  int32_t registration_version = 0;  // now; checked by failover writes
  bool departed = false;             // it said good-bye
};

enum class WriteOutcome : uint8_t {
  kOk,
  kConflict,  // the registration check of `conflict` failed: it came back
  kFailed,    // not written, for a reason that may pass
  kTooLarge,  // not written: larger than the store takes, most of it the record of `conflict`
  kDeposed,   // the leader epoch has moved on
};
struct WriteDone {
  uint64_t batch = 0;
  WriteOutcome outcome = WriteOutcome::kOk;
  ServerIndex conflict;
};

enum class CommandOutcome : uint8_t {
  kDone,
  kLoading,
  kFailed,
  kStale,
  kCalledOff,  // of kDrop, kPrepareDrop and kChangeRole: it serves on under its grant
  kUnreachable,
  kDeposed,  // as kUnreachable: the server has obeyed a leader with a higher epoch
};
constexpr bool IsUnreachable(CommandOutcome outcome) {
  return outcome == CommandOutcome::kUnreachable || outcome == CommandOutcome::kDeposed;
}
struct CommandResult {
  CommandKind kind = CommandKind::kAdd;
  CommandOutcome outcome = CommandOutcome::kDone;
  ServerIndex server;
  Incarnation incarnation;
  ShardIndex shard;
  ShardEpoch epoch;
  float progress = 0;                       // with kLoading, 0 to 1
  std::string error;                        // of the last five
  ShardEpoch serving_epoch = ShardEpoch();  // with kCalledOff: it serves on under this; 0: unknown
};

// Requests for one shard that were admitted since the last report.
struct RequestsFrom {
  std::string region;  // of the clients, as they say
  uint64_t requests = 0;
};
// The same, all of them, whatever their region.
struct RequestCount {
  std::string shard;
  uint64_t requests = 0;
  uint64_t errors = 0;               // of the server's own
  std::vector<uint32_t> times = {};  // some of them, by time class (model/traffic/request_times.h)
};
struct HeldReplica {
  std::string shard;
  ShardEpoch epoch;
  bool serving = false;
  Role role = Role::kPrimary;
  std::vector<MetricAmount> load = {};      // as it says: checked when it is taken over
  std::vector<RequestsFrom> requests = {};  // likewise
};
// Of the requests of one server since its last report: the keys that are asked for most, by a
// sample.
struct SampledKey {
  std::string key;
  std::string shard;
  uint64_t count = 0;  // at most
  uint64_t error = 0;  // and at least so much less
};
struct SampledKeys {
  uint64_t requests = 0;               // that were looked at
  uint32_t one_in = 1;                 // of so many
  std::vector<SampledKey> top = {};    // descending by count
  std::vector<uint32_t> by_hash = {};  // kHashParts of them, or none
};
// What a server counted of its requests since its last report.
struct CountedTraffic {
  Duration counted_for = Duration(0);     // 0: it counts none
  uint64_t requests = 0;                  // of all shards
  std::vector<RequestCount> shards = {};  // those with the most requests, or errors
  SampledKeys keys = {};
};
struct Holdings {
  std::vector<HeldReplica> held = {};
  std::vector<MetricAmount> capacity = {};  // that it can carry now; unchecked, too
  CountedTraffic traffic = {};
};
// The answer to Collect. Not ok: no answer.
struct ServerReport {
  ServerIndex server;
  Incarnation incarnation;
  bool ok = true;
  std::vector<HeldReplica> held = {};
  std::vector<MetricAmount> capacity = {};
  CountedTraffic traffic = {};
};

struct PlanReady {
  uint64_t id = 0;
  allocator::Plan plan;
};

// A later leader of this cell was heard of, though this one is proven to lead: the store has lost
// what it knew. Repeats change nothing.
struct LaterLeaderSeen {
  std::string where;  // for people
};

// An operator says that what made the shard fail is mended: nothing about it waits for its next
// try. Repeats change nothing.
struct RetryAsked {
  std::string shard;
};

// An operator wants a replica of the shard elsewhere. What may not be (describe/asked_moves.h)
// changes nothing.
struct MoveAsked {
  std::string shard;
  std::string from;
  std::string to;
  std::string operation = {};  // as ControlEvent has it
};

// An operator says that a server which is quarantined is well. Repeats change nothing.
struct QuarantineLifted {
  std::string server;
};

// What an operator says of a server that does not come back is durable. Of one that lives, or has
// replicas, it changes nothing: it came back meanwhile.
struct ServerForgotten {
  std::string server;
  int32_t registration_version = 0;  // of the server's znode, since then
};

// What container operations ask for servers: all orders that hold, those before are void. May come
// before Recovered, so that they hold from the first decision on. Repeats change nothing.
struct OrdersChanged {
  std::vector<ServerOrder> orders;
};

// What the app's own orchestrator says of its servers, its roles filled in. Older ones than the
// newest change nothing, nor do those of an app without one.
struct MapSupplied {
  SuppliedMap map;
};

using Event = std::variant<Recovered, SpecChanged, ServerUp, ServerDown, WriteDone, CommandResult,
                           ServerReport, PlanReady, LaterLeaderSeen, RetryAsked, MoveAsked,
                           QuarantineLifted, ServerForgotten, OrdersChanged, MapSupplied>;

// ---- actions ----

struct ReplicaRecord {
  ShardIndex shard;
  Role role;
  Phase phase;
  ShardEpoch epoch;
  uint32_t member_life = 0;
};
struct ServerWrite {
  ServerIndex server;
  std::vector<ReplicaRecord> replicas;  // its whole record
};
struct RegistrationCheck {
  ServerIndex server;
  int32_t version;
};
// Write all of it in one multi that also checks the leader epoch; answer with
// WriteDone. One is out at a time.
struct Persist {
  uint64_t batch = 0;
  std::vector<ServerWrite> writes;
  std::vector<RegistrationCheck> checks;
};

struct Grant {
  ShardIndex shard;
  Role role;
  ShardEpoch epoch;
  ShardEpoch next_epoch = {};  // kPrepareDrop: the new owner's
  // Of primaries with secondaries: who is in step, the primary included. Empty: not told.
  std::vector<ServerIndex> members = {};
  uint64_t members_version = 0;  // grows with each list
  // The shards that it replaces, which its server may hold.
  std::vector<ShardIndex> made_of = {};
};
// Answer with one final CommandResult for each grant.
struct SendCommands {
  CommandKind kind;
  ServerIndex server;
  Incarnation incarnation;
  std::vector<Grant> grants;
  // Of a handover: who hands over (kPrepareAdd), or takes it. Of a primary that becomes a
  // secondary (kChangeRole): who is to be the primary.
  ServerIndex other = {};
};

// Ask what it holds; answer with ServerReport.
struct Collect {
  ServerIndex server;
  Incarnation incarnation;
};

// Solve and answer with PlanReady. One is out at a time.
struct ComputePlan {
  uint64_t id = 0;
  allocator::Snapshot snapshot;
  allocator::Options options;
};

// Publish the map: all of it, or these shards' replicas as they are now.
struct Publish {
  bool whole = false;
  std::vector<ShardIndex> shards;
};

enum class NoteKind : uint8_t {
  kServerJoined,
  kServerLost,
  kServerUnsteady,
  kServerDeparted,
  kServerForgotten,
  kFailoverStarted,
  kFailoverFinished,
  kShardServing,
  kShardUnplaceable,
  kCommandFailed,
  kMoveStarted,
  kMoveFinished,
  kMoveCalledOff,
  kPrimaryElected,
  kPrimaryPassesOn,   // as its server is beyond its limits
  kUncleanPromotion,  // acknowledged writes may be lost
  kShardPoisoned,
  kWriteRefused,
  kRecordTooLarge,
  kEpochsBehind,  // the cell was restored from a backup
  kSpecApplied,
  kLoadRefused,
  kDrainStarted,
  kDrained,
  kDrainEnded,
  kServerQuarantined,
  kQuarantineEnded,
  kRetryAsked,
  kPaused,
  kResumed,
  kPinned,
  kUnpinned,
  kRegionsPreferred,
  kShardScaled,
  kScalingHasNoRoom,
  kDemandFollowed,
  kShardsReplaced,
  kMassFailure,
  kMassFailureOver,
  kMaintenanceNotified,
  kMaintenanceCancelled,
  kMaintenancePreparing,
  kMaintenanceBegun,
  kMaintenanceHits,
  kMaintenanceOver,
  kMapSupplied,
  kMapMissing,  // by the app's own orchestrator
  kShardHot,
  kShardCooled,
  kKeyHot,
  kKeyCooled,
};
// The event's name in `shardctl watch` (ControlEvent.kind).
constexpr std::string_view NameOf(NoteKind kind) {
  constexpr auto kNames = std::to_array<std::string_view>({"ServerJoined",
                                                           "ServerLost",
                                                           "ServerUnsteady",
                                                           "ServerDeparted",
                                                           "ServerForgotten",
                                                           "FailoverStarted",
                                                           "FailoverFinished",
                                                           "ShardServing",
                                                           "ShardUnplaceable",
                                                           "CommandFailed",
                                                           "MoveStarted",
                                                           "MoveFinished",
                                                           "MoveCalledOff",
                                                           "PrimaryElected",
                                                           "PrimaryPassesOn",
                                                           "UncleanPromotion",
                                                           "ShardPoisoned",
                                                           "WriteRefused",
                                                           "RecordTooLarge",
                                                           "EpochsBehind",
                                                           "SpecApplied",
                                                           "LoadRefused",
                                                           "DrainStarted",
                                                           "Drained",
                                                           "DrainEnded",
                                                           "ServerQuarantined",
                                                           "QuarantineEnded",
                                                           "RetryAsked",
                                                           "Paused",
                                                           "Resumed",
                                                           "Pinned",
                                                           "Unpinned",
                                                           "RegionsPreferred",
                                                           "ShardScaled",
                                                           "ScalingHasNoRoom",
                                                           "DemandFollowed",
                                                           "ShardsReplaced",
                                                           "MassFailure",
                                                           "MassFailureOver",
                                                           "MaintenanceNotified",
                                                           "MaintenanceCancelled",
                                                           "MaintenancePreparing",
                                                           "MaintenanceBegun",
                                                           "MaintenanceHits",
                                                           "MaintenanceOver",
                                                           "MapSupplied",
                                                           "MapMissing",
                                                           "ShardHot",
                                                           "ShardCooled",
                                                           "KeyHot",
                                                           "KeyCooled"});
  static_assert(kNames.size() == static_cast<size_t>(NoteKind::kKeyCooled) + 1);
  return kNames[static_cast<size_t>(kind)];
}
// For logs, metrics and `shardctl watch`: what happened and why.
struct Note {
  NoteKind kind;
  ServerIndex server;  // may be invalid
  ShardIndex shard;    // may be invalid
  std::string detail;
  std::string operation = {};  // as ControlEvent has it
};

// For metrics: what the app's requests came to, as of now.
struct ShowTraffic {
  TrafficFigures figures;
};

// Every shard of a deleted app is dropped: its records may go.
struct Emptied {};

// The leader epoch is not ours any more: stop at once. Nothing follows.
struct StepDown {};

using Action = std::variant<Persist, SendCommands, Collect, ComputePlan, Publish, Note, ShowTraffic,
                            Emptied, StepDown>;

}  // namespace shardmanager::orchestrator
