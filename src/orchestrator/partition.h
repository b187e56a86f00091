// The orchestrator's core: the state machine of one partition (one app's servers
// and shards). It sees what is stored and what happens, and decides what to write,
// whom to command, when to plan, and what to publish.
//
// How it works, in one pass (Finish, after every event):
//   1. look at each shard that something happened to     (reconcile.cc, handover.cc, roles.cc)
//   2. put what must be written into one batch           (commit.cc)
//   3. ask for a plan when replicas have no place        (planning.cc)
//   4. send commands, publish the map
//
// Rules that everything here keeps:
//   * A shard's next step is decided from its state alone (level-triggered), so a
//     successor that recovers the same records goes on where this one stopped.
//   * Nothing is commanded or published before the write that allows it is durable:
//     a replica's `phase` changes only in OnEvent(WriteDone).
//   * Each write's right is checked in one place, Stage(), against model/replica_phase.h.
//   * One batch is out at a time; what comes up meanwhile goes into the next one (group commit).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "base/interner.h"
#include "base/state_machine.h"
#include "model/layout.h"
#include "orchestrator/budgets.h"
#include "orchestrator/load_table.h"
#include "orchestrator/membership.h"
#include "orchestrator/missing_shards.h"
#include "orchestrator/move_holds.h"
#include "orchestrator/oversize_records.h"
#include "orchestrator/overtaken_grants.h"
#include "orchestrator/partition_io.h"
#include "orchestrator/partition_parts.h"
#include "orchestrator/quarantine.h"
#include "orchestrator/tables.h"
#include "orchestrator/timers.h"
#include "orchestrator/unread_members.h"

namespace shardmanager::orchestrator {

struct PartitionOptions {
  // Every epoch that this leader grants is above those of all leaders before.
  LeaderEpoch leader_epoch;
  uint64_t seed = 1;
  // Grants of this leader that are out: of an app of the same name, deleted since.
  uint32_t epochs_given = 0;
};

// Not thread-safe. See base/state_machine.h for the contract.
class Partition {
 public:
  using Event = orchestrator::Event;
  using Action = orchestrator::Action;

  explicit Partition(PartitionOptions options)
      : options_(options), epochs_given_(options.epochs_given) {}

  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

  // ---- for those who render, publish and test ----
  const Tables& tables() const { return tables_; }
  const v1::AppSpec& spec() const { return spec_; }
  bool recovered() const { return recovered_; }
  const OvertakenGrants& overtaken() const { return overtaken_; }
  bool deleting() const { return deleting_; }
  // In the order of the map.
  const std::vector<LayoutShard>& layout() const { return layout_; }
  ShardIndex shard_at(size_t map_index) const { return map_order_[map_index]; }
  uint32_t moves_in_flight() const { return budgets_.planned_moves(); }
  uint32_t epochs_given() const { return epochs_given_; }
  bool Serves(const Replica& replica) const;
  // The replicas that clients should use now, and what as.
  struct Published {
    ReplicaIndex replica;
    Role role;
  };
  std::vector<Published> PublishedReplicas(ShardIndex shard) const;
  // Shards have a primary and secondaries.
  bool HasBothRoles() const;
  // Serves, and has all that the primary has acknowledged.
  bool InStep(const Replica& replica) const;
  // Why the replica's last command failed; empty when it did not.
  const std::string& ErrorOf(ShardIndex shard, ServerIndex server) const;
  // Why no place was found for a missing replica; empty when one was.
  std::string_view UnplaceableReason(ShardIndex shard) const;
  // Nothing is decided about the shard: it may be on a server whose record cannot be read, or be in
  // step there with its primary.
  bool HeldBack(ShardIndex shard) const;
  // Those servers, ascending by index.
  const std::vector<ServerIndex>& unread_servers() const { return unread_; }
  // "kv-3, whose assignment record cannot be read".
  std::string UnreadServers() const;
  // Of a shard that is held back: "it may be on kv-3, whose assignment record cannot be read: until
  // that is mended or released, nobody else gets it".
  std::string WhyHeldBack(ShardIndex shard) const;
  // What the shard waits for now, a sentence each; empty: nothing.
  std::vector<std::string> WaitsOf(ShardIndex shard, TimePoint now) const;
  // What was last decided about the balance of the app, and when it is looked at next.
  std::string BalanceState(TimePoint now) const;
  // The fleet, and of the shards only this one: for allocator::Explain.
  allocator::Snapshot ExplainSnapshot(ShardIndex shard) const;
  // Percent loaded, of a replica that is loading; -1: unknown.
  int ProgressOf(ShardIndex shard, ServerIndex server) const;
  // Metrics of the spec, in its order; what a server carries of one by the newest
  // reports, and how much it can: infinity, no limit.
  const std::vector<std::string>& metric_names() const { return metric_names_; }
  double ServerLoad(ServerIndex server, size_t metric) const;
  double ReplicaLoad(ReplicaIndex replica, size_t metric) const;
  double MetricCapacity(ServerIndex server, size_t metric) const;
  // Most replicas on the server; 0: no limit.
  uint32_t ReplicaCapacity(ServerIndex server) const;
  const std::vector<v1::Drain>& drains() const { return drains_; }
  // Of a live server: "live", "draining" or "drained"; and how far that is, for people.
  std::pair<const char*, std::string> DrainState(ServerIndex server, TimePoint now) const;
  // Servers that get nothing new as they cannot add shards; of one, why; empty: it is none.
  size_t quarantined() const { return quarantine_.sick(); }
  std::string QuarantineState(ServerIndex server, TimePoint now) const;
  // Why the server's assignment record takes no change, or no more replicas; empty: it does.
  std::string RecordState(ServerIndex server, TimePoint now) const;
  // Loads out of range that were reported.
  uint64_t loads_refused() const { return loads_refused_; }
  // Beside the tables' own, in bytes.
  size_t memory_bytes() const;

 private:
  // A shard's replicas counted, those that the change removes left out.
  struct Census {
    uint32_t healthy = 0;  // granted or reserved, on servers that are not given up
    uint32_t serving = 0;
    bool primary_right = false;  // a primary may serve that the change does not end
    bool moving = false;         // a replica is reserved or dropping
    ReplicaIndex reserved;
    absl::InlinedVector<ReplicaIndex, 2> lost;  // granted on servers that are given up
  };
  // Of one command to one server, in a row. Then something else is tried: another server, or
  // (of a move, or a change of role) the old state.
  static constexpr uint8_t kMostFailures = 3;

  // events.cc
  void On(Recovered& event);
  void On(SpecChanged& event);
  void On(ServerUp& event);
  void On(ServerDown& event);
  void On(WriteDone& event);
  void On(CommandResult& event);
  void On(ServerReport& event);
  void On(PlanReady& event);
  void On(LaterLeaderSeen& event);
  void RecoverServer(StoredServer& stored);
  void RecoverMoves();
  void AdoptSpec(const v1::AppSpec& spec, bool deleting);
  void AdoptLife(ServerIndex id, const ServerLife& life);
  void LoseServer(ServerIndex id, bool departed);
  void ForgetContacts(ServerIndex id);
  void GotThrough(ServerIndex id);
  void AddDone(ReplicaIndex id);
  void AskForReport(ServerIndex id);
  void CommandFailed(ReplicaIndex id, const CommandResult& event);
  void ServerUnreachable(ServerIndex id);
  void DropStrays(const ServerReport& report);
  void RetryUnplaceable();
  void Gather();
  // First placements wait for the fleet to gather; what was lost is never made to wait.
  bool WaitsForFleet(const Shard& shard, TimePoint now) const {
    return !shard.first.valid() && now < gather_until_;
  }
  static Duration Backoff(uint32_t failures);
  Duration LookInterval() const;
  void SetFirstLook(ServerIndex server);
  void RestartLooks();
  void SetBalanceTimer();
  void GiveUp(ServerIndex server);
  void RetryServer(ServerIndex server);
  void RetryShard(ShardIndex shard);
  void LookAgain(const Timer& timer);
  void Fire(const Timer& timer);

  // reconcile.cc
  void Look(ShardIndex shard);
  void Decide(ShardIndex shard);
  void DecideNextStep(ShardIndex shard);
  void DecideEnds(ShardIndex shard);
  void DecideRetirement(ShardIndex shard);
  void DecidePlacement(ShardIndex shard, Census& census);
  void DecideMove(ShardIndex shard, const Intent& intent, Census& census);
  void DecideSurplus(ShardIndex shard, const Census& census);
  void DecideOutOfStep(ShardIndex shard);
  Census Count(ShardIndex shard) const;
  void Command(ShardIndex shard);
  std::optional<CommandKind> Demand(const Replica& replica) const;
  bool IsEnding(ReplicaIndex id) const;
  static bool IsGone(const Server& server);
  static bool IsGivenUp(const Server& server);
  bool CanBeTarget(ShardIndex shard, ServerIndex server) const;
  bool IsGettingNew(ServerIndex server) const;
  Cause CauseOfMove(ServerIndex from) const;
  Cause CauseOfTurn(ServerIndex from) const;
  bool MoveBudgetLeft(Cause cause, const Intent& intent) const;
  uint32_t FailoversLeft(ShardIndex shard) const;
  bool AnyServerTakesFailovers() const;
  void AwaitFailover(ShardIndex shard);
  void NextFailover();
  bool HasPrimaries() const;
  bool HasSecondaries() const;
  Role RoleOfNew(ShardIndex shard, const Census& census) const;

  // poison.cc
  void DecideOvertaken(ShardIndex shard);
  void DecideElsewhere(ShardIndex shard);
  using Servers = absl::InlinedVector<ServerIndex, 2>;
  Servers FailedAt(ShardIndex shard) const;
  Servers Avoided(ShardIndex shard, bool of_move) const;
  std::vector<MoveHolds::HeldPair> HeldPairs(ShardIndex shard, TimePoint now) const;
  bool IsMoving(ShardIndex shard) const;
  bool HasOtherPlace(const Replica& replica) const;
  bool HasNewPlace(ShardIndex shard) const;
  ServerIndex LastResort(const Replica& replica) const;
  bool IsLastServer(const Replica& replica) const;
  void NoteFailedAt(const Replica& replica);
  void AllowFailed(ShardIndex shard);
  void NotePoison(ReplicaIndex id);
  bool IsOvertaken(const Replica& replica) const;
  void TryElsewhere(ShardIndex shard);
  void ForgetFailedMove(ShardIndex shard);
  void ForgetPoison(ShardIndex shard);
  void HoldMoves(ShardIndex shard, ServerIndex avoid);
  bool MayMove(ShardIndex shard) const;
  bool MayMoveTo(ShardIndex shard, ServerIndex server) const;

  // sick_servers.cc
  void NoteAddFailed(const Replica& replica, const std::string& error);
  bool MostServersAreWell() const;
  void NoteAdded(ServerIndex server);
  void EndQuarantine(ServerIndex server, const char* why);
  void LookForPlaces();
  bool IsBarred(ServerIndex server) const;
  ServerIndex ReturnsTo(ShardIndex shard) const;
  bool MayReturn(ServerIndex server) const;
  void DecideReturn(ShardIndex shard, Census& census);

  // record_room.cc
  bool RecordTakes(ServerIndex server, size_t bytes) const;
  uint32_t RecordCapacity(ServerIndex server) const;
  void RecordRefused(ServerIndex server);
  bool AwaitsRecord() const;

  // roles.cc
  void DecideRoles(ShardIndex shard);
  void DecideDemotion(ShardIndex shard, ReplicaIndex demoting);
  void DecidePrimary(ShardIndex shard, ReplicaIndex primary);
  void PassRole(ReplicaIndex from, bool gone, ReplicaIndex next);
  void BeginTurn(ShardIndex shard);
  bool IsHopeless(ShardIndex shard, const Replica& primary) const;
  void TurnPrimary(ShardIndex shard, ReplicaIndex primary);
  ReplicaIndex BestSecondary(ShardIndex shard, bool in_step) const;
  bool IsMemberAwaited(ShardIndex shard) const;
  bool HasMajority(ShardIndex shard) const;
  bool IsCurrent(const Replica& replica) const;
  bool WantsOtherPrimary(ShardIndex shard, const Replica& primary) const;
  void BeginTurnPause(ShardIndex shard);
  void EndTurnPause(ShardIndex shard);
  void EndTurn(ShardIndex shard);
  void WakeTurnWaiter();
  void BalancePrimaries();

  // members.cc
  void DecideMembers(ShardIndex shard, ReplicaIndex primary);
  static bool Has(const Membership::List& list, const Membership::Member& member);
  Membership::List MembersOf(ShardIndex shard, const Membership::List& told) const;
  std::optional<Membership::Member> NextMember(ShardIndex shard, const Membership& by) const;
  void CandidateFailed(ShardIndex shard, Membership& membership);
  std::vector<ServerIndex> MembersInGrant(ShardIndex shard);
  void TellMembers(ShardIndex shard, const Replica& primary);
  void OnMembers(const CommandResult& event);
  void RetryMembers(ShardIndex shard);
  bool StillMember(const Replica& replica) const;
  bool MayLeave(const Replica& replica) const;
  ReplicaIndex PrimaryOf(ShardIndex shard) const;
  void ForgetMembers(ShardIndex shard);

  // commit.cc
  void FormBatch();
  size_t CostOf(const Change& change) const;
  void Stage(ShardIndex shard);
  void CheckRight(ShardIndex shard, const PhaseChange& change) const;
  void CheckOneGrant() const;
  static bool MayProcess(const Replica& replica);
  void CheckPrimaryRight(ShardIndex shard, ReplicaIndex granted, Role role) const;
  void StageChange(const PhaseChange& change);
  bool ApplyTurn(ReplicaIndex id, Phase before);
  bool BeginsAnew(const Replica& primary, const Turning& next) const;
  void StageNew(ShardIndex shard, const NewReplica& fresh);
  void Touch(ServerIndex server);
  void SendBatch();
  void ApplyBatch();
  void RevertBatch();
  void Settle(ReplicaIndex id);

  // handover.cc
  struct Handover {
    ReplicaIndex from;      // granted or forwarding; invalid: it is lost, or lets go
    ReplicaIndex to;        // preparing; invalid: no handover is under way
    ReplicaIndex last;      // dropping
    ReplicaIndex outdated;  // preparing, for an earlier handover; or invalid
  };
  bool MovesByHandover() const;
  Handover HandoverOf(ShardIndex shard) const;
  void DecideHandover(ShardIndex shard);
  void DecideToStay(ShardIndex shard);
  bool IsCalledOff(const Replica& old_owner) const;
  ShardEpoch ServesOnUnder(const Replica& demoting) const;
  void Stay(ReplicaIndex old_owner);
  void NoteStays(const Replica& old_owner);
  bool StillForwards(const Replica& replica) const;
  ReplicaIndex OtherOf(const Replica& replica) const;

  // unread.cc
  void NoteRights();
  bool TakesNothing(const Server& server) const;
  void AdoptReported(const ServerReport& report);
  bool AwaitsUnreadMembers() const;
  void SetUnreadMembers(const Membership::Member& server, const UnreadMembers::Shards& shards);
  void MarkAllDirty();

  // loads.cc
  bool AdoptMetrics();  // true: they changed
  void AdoptCapacities(ServerIndex server, const std::vector<MetricAmount>& registered);
  void RecordLoads(ReplicaIndex id, const HeldReplica& held, LoadProblem& problem);
  void NoteLoadProblem(ServerIndex server, const LoadProblem& problem);
  void InheritLoads(ReplicaIndex fresh);
  void RemoveReplica(ReplicaIndex id);
  std::vector<float> Pressure(const LoadTable& loads) const;
  void EndCourse();
  void ConsiderLoads();

  // drains.cc
  void AdoptDrains(const std::vector<v1::Drain>& drains);
  void UpdateDrain(ServerIndex server);
  void NoteDrained(ServerIndex server);
  std::string LeftToDrain(const Server& server, TimePoint now) const;
  const v1::Drain* DrainOf(ServerIndex server) const;
  bool Empties(const v1::Drain& drain) const;
  void UpdateShedding(ServerIndex server);

  // waits.cc
  void AddReplicaWaits(const Replica& replica, TimePoint now, std::vector<std::string>& out) const;
  void AddRoleWaits(ShardIndex shard, TimePoint now, std::vector<std::string>& out) const;
  void AddPlaceWaits(ShardIndex shard, TimePoint now, std::vector<std::string>& out) const;
  std::string FailoverWait(ShardIndex shard) const;
  void AddMoveWaits(ShardIndex shard, std::vector<std::string>& out) const;

  // planning.cc
  void RequestPlan();
  std::vector<ShardIndex> TakeMissing();
  void ConsiderBalance();
  bool WorthBalancing() const;
  void BarFull(allocator::Snapshot& snapshot) const;
  bool Accepts(ServerIndex server) const;
  bool RegionAllowed(ServerIndex server) const;
  allocator::Snapshot FleetSnapshot(const LoadTable& loads) const;
  enum class Purpose : uint8_t { kEmergency, kBalance, kExplain };
  void AddToSnapshot(ShardIndex shard, Purpose purpose, const LoadTable& loads,
                     allocator::Snapshot& snapshot) const;
  bool MakesRoom(const Replica& replica) const;
  void AddLoads(ShardIndex shard, Purpose purpose, const LoadTable& loads,
                allocator::Snapshot& snapshot) const;
  void SendPlanRequest(allocator::Snapshot snapshot, allocator::Mode mode);
  void NoteSkipped(const allocator::Plan& plan);
  void AcceptMove(const allocator::Move& move);

  // partition.cc
  Output<Action> Finish();
  void FlushCommands();
  void FlushPublish();
  void MarkDirty(ShardIndex shard);
  void MarkServerDirty(ServerIndex server);
  void MarkPublish(ShardIndex shard);
  void WantWrite(ShardIndex shard);
  void SetTimer(Duration delay, TimerKind kind, uint32_t id = 0);
  void AddNote(NoteKind kind, ServerIndex server, ShardIndex shard, std::string detail = {});
  uint32_t DomainNumber(const std::string& region, const std::string& datacenter = {},
                        const std::string& rack = {});
  ShardEpoch NextEpoch();
  bool MapReady() const;
  void AddStandIn(ShardIndex shard, std::vector<Published>& chosen) const;
  static uint64_t Key(ShardIndex shard, ServerIndex server) {
    return uint64_t{shard.index()} << 32 | server.index();
  }

  const PartitionOptions options_;
  TimePoint now_{};
  Output<Action> out_;
  bool recovered_ = false;
  bool stopped_ = false;
  bool deleting_ = false;
  bool emptied_ = false;

  v1::AppSpec spec_;
  std::vector<LayoutShard> layout_;
  std::vector<ShardIndex> map_order_;
  std::vector<bool> region_allowed_;  // by domain number; empty: all are
  std::vector<v1::Drain> drains_;
  Tables tables_;
  Interner<DenseId<struct DomainTag>> domains_;
  uint32_t epochs_given_;

  Timers timers_;
  uint64_t looks_since_ = 0;  // timers for looks with an older number are void

  std::deque<ShardIndex> dirty_;
  std::deque<ShardIndex> write_queue_;
  Change change_;  // scratch of Decide

  uint64_t batch_ = 0;
  bool batch_out_ = false;
  bool writes_blocked_ = false;
  std::vector<ShardIndex> batch_shards_;
  std::vector<ServerIndex> batch_servers_;
  std::vector<ServerIndex> batch_checks_;

  absl::flat_hash_map<ShardIndex, absl::InlinedVector<Intent, 2>> intents_;
  absl::flat_hash_map<ShardIndex, ServerIndex> move_from_;  // secondary moves under way
  absl::flat_hash_map<ReplicaIndex, Turning> turning_;      // in the batch that is out
  absl::flat_hash_map<ShardIndex, Servers> failed_at_;      // since it was served last
  absl::flat_hash_map<ShardIndex, ServerIndex> return_to_;  // who had it before a move failed
  MoveHolds move_holds_;
  OvertakenGrants overtaken_;
  OversizeRecords oversize_;
  size_t most_replica_bytes_ = 0;  // of a replica of any shard in the spec
  Quarantine quarantine_;
  absl::flat_hash_map<ShardIndex, Membership> members_;
  absl::flat_hash_map<ShardIndex, ServerIndex> stand_in_;  // was the primary, and sends on
  absl::flat_hash_map<ShardIndex, ServerIndex> turn_to_;   // is to be the primary, for balance
  absl::flat_hash_map<ShardIndex, ServerIndex> sent_to_;   // was the primary: clients ask it yet
  absl::flat_hash_set<ShardIndex> turns_;                  // primaries that are being changed
  std::set<ShardIndex> turn_waiters_;                      // for room among those
  MissingShards missing_;
  bool retry_soon_ = false;  // shards without a place are to be tried again
  std::deque<ShardIndex> budget_waiters_;
  uint64_t plan_ = 0;
  bool plan_out_ = false;
  bool plan_is_emergency_ = false;
  TimePoint gather_until_ = TimePoint::min();     // shards that never had a place wait so long
  TimePoint gather_deadline_ = TimePoint::min();  // and no longer, whoever still joins
  bool balance_soon_ = false;
  TimePoint next_balance_{};  // the next periodic look
  TimePoint last_balance_{};  // when a plan for balance last came back
  size_t last_balance_moves_ = 0;
  bool ever_balanced_ = false;  // the two above are set
  bool at_rest_ = false;  // nothing changed since the allocator was asked for a better balance
  Budgets budgets_;

  std::vector<Outbox> outbox_;
  std::vector<ShardIndex> publish_;
  bool publish_whole_ = false;
  bool published_ = false;
  bool publish_timer_ = false;
  bool map_deadline_passed_ = false;
  TimePoint last_publish_{};
  std::vector<ServerIndex> finished_failovers_;
  uint32_t unreported_ = 0;  // live servers that have not said what they hold
  std::vector<ServerIndex> unread_;
  UnreadMembers unread_members_;

  std::vector<std::string> metric_names_;
  LoadTable reported_;
  LoadTable planned_;
  std::vector<float> pressure_;  // as the last course of balancing left the servers
  TimePoint pictured_at_{};
  bool course_over_ = false;  // the last plan found nothing to improve in planned_
  absl::flat_hash_map<ServerIndex, std::vector<MetricAmount>> metric_capacity_;
  absl::flat_hash_set<ServerIndex> bad_loads_;  // reported a load out of range lately
  uint64_t loads_refused_ = 0;

  absl::flat_hash_map<ServerIndex, TimePoint> retry_at_;  // of those with a retry_timer
  absl::flat_hash_map<uint64_t, Trouble> errors_;         // by Key()
  absl::flat_hash_map<uint64_t, uint8_t> progress_;       // by Key(), percent
};

}  // namespace shardmanager::orchestrator
