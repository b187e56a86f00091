// Servers: their lives, what they report, and when they are given up.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/core/commander.h"
#include "orchestrator/core/drains.h"
#include "orchestrator/core/load/demand_book.h"
#include "orchestrator/core/load/load_book.h"
#include "orchestrator/core/member_teller.h"
#include "orchestrator/core/moves_under_way.h"
#include "orchestrator/core/planner.h"
#include "orchestrator/core/publication.h"
#include "orchestrator/core/sick_servers.h"
#include "orchestrator/core/unread_records.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Fleet {
 public:
  Fleet(PartitionState& state, Agenda& agenda, LoadBook& load_book, DemandBook& demand_book,
        Drains& drains, UnreadRecords& unread, MemberTeller& members, SickServers& sick_servers,
        MovesUnderWay& moves, Publication& publication, Commander& commander, Planner& planner)
      : state_(state),
        agenda_(agenda),
        load_book_(load_book),
        demand_book_(demand_book),
        drains_(drains),
        unread_(unread),
        members_(members),
        sick_servers_(sick_servers),
        moves_(moves),
        publication_(publication),
        commander_(commander),
        planner_(planner) {}

  // The server lives, as this life says.
  void AdoptLife(ServerIndex id, const ServerLife& life);
  // It does not live: what its record says of its last life.
  void AdoptLastLife(ServerIndex id, const StoredServer& stored);
  // Its lease has lapsed: nothing is served there as primary any more.
  void LoseServer(ServerIndex id, bool departed);
  // As often as the new spec says, and soon.
  void RestartLooks();
  // When a server that is lost is given up, now that it may be away as planned.
  void UpdateFailover(ServerIndex id);
  // It is lost, and was waited for long enough.
  void GiveUp(ServerIndex server);
  // TimerKind::kLook: the server is asked again what it holds.
  void LookAgain(const Timer& timer);
  // TimerKind::kSteady: it may be given what others can hold, the role of the primary among it.
  void BecomeSteady(ServerIndex id);
  void Place(Server& server, const FaultDomain& at);
  // 1-based, so that 0 can mean "none". Names nest: racks of different datacenters
  // differ even under one name.
  uint32_t DomainNumber(const std::string& region, const std::string& datacenter = {},
                        const std::string& rack = {});
  // Of a region that is asked for; 0: none is.
  uint32_t RegionNumber(const std::string& region) {
    return region.empty() ? 0 : DomainNumber(region);
  }
  void On(ServerUp& event);
  void On(ServerDown& event);
  void On(ServerForgotten& event);
  // False: the report is of no use, as it is not of the server's present life, or has no answer.
  bool On(ServerReport& event);

 private:
  void ForgetContacts(ServerIndex id);
  void AwaitSteadiness(ServerIndex id);
  void AskForReport(ServerIndex id);
  void DropStrays(const ServerReport& report);
  Duration LookInterval() const;
  void SetFirstLook(ServerIndex server);
  TimePoint FailoverTime(const Server& server) const;
  void AwaitLastResort(ServerIndex id);

  PartitionState& state_;
  Agenda& agenda_;
  LoadBook& load_book_;
  DemandBook& demand_book_;
  Drains& drains_;
  UnreadRecords& unread_;
  MemberTeller& members_;
  SickServers& sick_servers_;
  MovesUnderWay& moves_;
  Publication& publication_;
  Commander& commander_;
  Planner& planner_;
  Interner<DenseId<struct DomainTag>> domains_;
  uint64_t looks_since_ = 0;  // timers for looks with an older number are void
};

}  // namespace shardmanager::orchestrator
