// The orchestrator's core: the state machine of one partition (one app's servers
// and shards). It sees what is stored and what happens, and decides what to write,
// whom to command, when to plan, and what to publish.
//
// How it works, in one pass (Finish, after every event):
//   1. look at each shard that something happened to     (core/shard_looks.h, by decide/)
//   2. put what must be written into one batch           (core/batch.h)
//   3. ask for a plan when replicas have no place        (core/planner.h)
//   4. send commands, publish the map                    (core/commander.h, core/publication.h)
//
// Rules that everything here keeps:
//   * A shard's next step is decided from its state alone (level-triggered), so a
//     successor that recovers the same records goes on where this one stopped.
//   * Nothing is commanded or published before the write that allows it is durable:
//     a replica's `phase` changes only in OnEvent(WriteDone).
//   * Each write's right is checked in one place, decide/rights.h, against model/replica_phase.h.
//   * One batch is out at a time; what comes up meanwhile goes into the next one (group commit).
#pragma once

#include <concepts>
#include <cstdint>

#include "base/state_machine.h"
#include "orchestrator/core/agenda.h"
#include "orchestrator/core/batch.h"
#include "orchestrator/core/commander.h"
#include "orchestrator/core/drains.h"
#include "orchestrator/core/failed_shards.h"
#include "orchestrator/core/fleet.h"
#include "orchestrator/core/keys/replacer.h"
#include "orchestrator/core/load/demand_book.h"
#include "orchestrator/core/load/load_book.h"
#include "orchestrator/core/load/shard_scaler.h"
#include "orchestrator/core/load/skew_book.h"
#include "orchestrator/core/maintenances.h"
#include "orchestrator/core/mass_failures.h"
#include "orchestrator/core/member_teller.h"
#include "orchestrator/core/mirror.h"
#include "orchestrator/core/moves_under_way.h"
#include "orchestrator/core/pausing.h"
#include "orchestrator/core/planner.h"
#include "orchestrator/core/publication.h"
#include "orchestrator/core/shard_looks.h"
#include "orchestrator/core/sick_servers.h"
#include "orchestrator/core/switchovers_under_way.h"
#include "orchestrator/core/unread_records.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/state/partition_io.h"
#include "orchestrator/state/partition_parts.h"
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
      : agenda_(state_, options.leader_epoch, options.epochs_given),
        planner_(state_, agenda_, load_book_, switchovers_, failed_shards_, options.seed) {}
  Partition(const Partition&) = delete;  // its parts refer to each other
  Partition& operator=(const Partition&) = delete;

  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

  // All that was decided from, for those who describe, publish and test.
  const PartitionState& state() const { return state_; }
  const Tables& tables() const { return state_.tables; }
  const v1::AppSpec& spec() const { return state_.spec; }
  uint32_t epochs_given() const { return agenda_.epochs_given(); }
  // Beside the tables' own, in bytes.
  size_t memory_bytes() const;

 private:
  // events.cc
  void On(Recovered& event);
  void On(SpecChanged& event);
  // (What registers under the name of an app with an orchestrator of its own is no server of it.)
  void On(ServerUp& event) {
    if (!Mirrors(state_)) fleet_.On(event);
  }
  void On(ServerDown& event);
  void On(WriteDone& event) { batch_.On(event); }
  void On(ServerReport& event);
  template <typename ForPlanner>
  requires requires(Planner& planner, ForPlanner& event) { planner.On(event); }
  void On(ForPlanner& event) { planner_.On(event); }
  template <typename ForCommander>
  requires requires(Commander& commander, ForCommander& event) { commander.On(event); }
  void On(ForCommander& event) { commander_.On(event); }
  // What an operator says of one server.
  template <typename OfServer>
  requires std::same_as<OfServer, QuarantineLifted> || std::same_as<OfServer, ServerForgotten>
  void On(OfServer& event) {
    if constexpr (std::same_as<OfServer, QuarantineLifted>) {
      sick_servers_.On(event);
    } else {
      fleet_.On(event);
    }
  }
  void On(OrdersChanged& event);
  void On(MapSupplied& event);
  void RecoverServer(StoredServer& stored);
  void AdoptSpec(const v1::AppSpec& spec, bool deleting);
  void AdoptLayout(std::vector<LayoutShard> layout);
  void AdoptPreference(ShardIndex id, const LayoutShard& entry);
  // Of the same spec, and for the shards whose region, or weight, changes.
  void AdoptPreferences(v1::StoredPreferences preferences);
  // What is asked for servers has changed.
  void UpdateServers();
  void Fire(const Timer& timer);
  void LookForPlacesAgain();

  Output<Action> Finish();
  // What follows for shards, servers and clients from what has happened.
  void Follow();

  PartitionState state_;
  Agenda agenda_;
  LoadBook load_book_{state_, agenda_};
  FailedShards failed_shards_{state_, agenda_};
  SickServers sick_servers_{state_, agenda_};
  ShardScaler scaler_{state_, agenda_};
  DemandBook demand_book_{state_, agenda_};
  Replacer replacer_{state_, agenda_};
  SkewBook skew_book_{state_, agenda_};
  SwitchoversUnderWay switchovers_{state_, agenda_};
  MemberTeller members_{state_, agenda_};
  Drains drains_{state_, agenda_};
  Pausing pausing_{state_, agenda_};
  Maintenances maintenances_{state_, agenda_};
  UnreadRecords unread_{state_, agenda_};
  Publication publication_{state_, agenda_};
  MovesUnderWay moves_{state_, agenda_, publication_};
  Commander commander_{state_, agenda_, members_, failed_shards_, sick_servers_, moves_};
  ShardLooks looks_{state_, agenda_, commander_, moves_, failed_shards_, switchovers_};
  Planner planner_;
  Batch batch_{state_,   agenda_,    looks_,  failed_shards_, switchovers_,
               members_, load_book_, drains_, moves_};
  Fleet fleet_{state_,   agenda_,       load_book_, demand_book_, drains_,    unread_,
               members_, sick_servers_, moves_,     publication_, commander_, planner_};
  MassFailures mass_failures_{state_, agenda_, moves_, fleet_};
  Mirror mirror_{state_, agenda_, drains_, fleet_};
  bool emptied_ = false;
};

}  // namespace shardmanager::orchestrator
