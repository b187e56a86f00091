// The orchestrator's core: the state machine of one partition (one app's servers
// and shards). It sees what is stored and what happens, and decides what to write,
// whom to command, when to plan, and what to publish.
//
// How it works, in one pass (Finish, after every event):
//   1. look at each shard that something happened to     (reconcile.cc; decide/)
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
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/interner.h"
#include "base/state_machine.h"
#include "orchestrator/core/agenda.h"
#include "orchestrator/core/drains.h"
#include "orchestrator/core/failed_shards.h"
#include "orchestrator/core/load_book.h"
#include "orchestrator/core/member_teller.h"
#include "orchestrator/core/publication.h"
#include "orchestrator/core/role_turns.h"
#include "orchestrator/core/sick_servers.h"
#include "orchestrator/core/unread_records.h"
#include "orchestrator/partition_io.h"
#include "orchestrator/partition_parts.h"
#include "orchestrator/state/partition_state.h"

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
      : seed_(options.seed), agenda_(state_, options.leader_epoch, options.epochs_given) {}
  Partition(const Partition&) = delete;  // its parts refer to each other
  Partition& operator=(const Partition&) = delete;

  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

  // All that was decided from, for those who describe, publish and test.
  const PartitionState& state() const { return state_; }
  const Tables& tables() const { return state_.tables; }
  const v1::AppSpec& spec() const { return state_.spec; }
  bool recovered() const { return state_.recovered; }
  bool deleting() const { return state_.deleting; }
  uint32_t epochs_given() const { return agenda_.epochs_given(); }
  // Loads out of range that were reported.
  uint64_t loads_refused() const { return load_book_.refused(); }
  // Beside the tables' own, in bytes.
  size_t memory_bytes() const;

 private:
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
  void Gather();
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
  Change Decide(ShardIndex shard);
  void Command(ShardIndex shard);
  void AwaitFailover(ShardIndex shard);
  void NextFailover();

  // commit.cc
  void FormBatch();
  size_t CostOf(const Change& change) const;
  void Stage(ShardIndex shard, const Change& change);
  void StageChange(const PhaseChange& change);
  bool ApplyTurn(ReplicaIndex id, Phase before);
  void StageNew(ShardIndex shard, const Change& change, const NewReplica& fresh);
  void Touch(ServerIndex server);
  void SendBatch();
  void ApplyBatch();
  void RevertBatch();
  void Settle(ReplicaIndex id);
  void NoteStays(const Replica& old_owner);
  void RecordRefused(ServerIndex server);

  // planning.cc
  void RequestPlan();
  std::vector<ShardIndex> TakeMissing();
  void ConsiderBalance();
  void SendPlanRequest(allocator::Snapshot snapshot, allocator::Mode mode);
  void NoteSkipped(const allocator::Plan& plan);
  void AcceptMove(const allocator::Move& move);

  // partition.cc
  Output<Action> Finish();
  void FlushCommands();
  uint32_t DomainNumber(const std::string& region, const std::string& datacenter = {},
                        const std::string& rack = {});

  const uint64_t seed_;
  PartitionState state_;
  Agenda agenda_;
  LoadBook load_book_{state_, agenda_};
  FailedShards failed_shards_{state_, agenda_};
  SickServers sick_servers_{state_, agenda_};
  RoleTurns turns_{state_, agenda_};
  MemberTeller members_{state_, agenda_};
  Drains drains_{state_, agenda_};
  UnreadRecords unread_{state_, agenda_};
  Publication publication_{state_, agenda_};
  bool stopped_ = false;
  bool emptied_ = false;

  Interner<DenseId<struct DomainTag>> domains_;

  uint64_t looks_since_ = 0;  // timers for looks with an older number are void

  uint64_t batch_ = 0;
  bool batch_out_ = false;
  std::vector<ShardIndex> batch_shards_;
  std::vector<ServerIndex> batch_servers_;
  std::vector<ServerIndex> batch_checks_;

  absl::flat_hash_map<ReplicaIndex, Turning> turning_;  // in the batch that is out
  std::deque<ShardIndex> budget_waiters_;
  uint64_t plan_ = 0;
  bool plan_is_emergency_ = false;
  TimePoint gather_deadline_ = TimePoint::min();  // and no longer, whoever still joins

  absl::flat_hash_map<ServerIndex, TimePoint> retry_at_;  // of those with a retry_timer
};

}  // namespace shardmanager::orchestrator
