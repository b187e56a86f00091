#include "tests/simulation/planned_events.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/drain.h"
#include "tests/simulation/maintenance_event.h"
#include "tests/simulation/restart_checker.h"

namespace shardmanager::simulation {
namespace {

// Of a shard, in a rolling restart: requests that may be refused or fail.
constexpr uint64_t kMostOnTheWay = 3;

}  // namespace

void PlannedEvents::All() {
  if (!cell_.well()) return;
  cell_.full_service = cell_.checkers.StoredSpec();
  if (cell_.full_service) cell_.checkers.Promise(*cell_.full_service);
  const Trouble before = TroubleOfCalls();
  Join();
  if (!cell_.well()) return;
  const std::string drained = Drain();
  if (!cell_.well()) return;
  RestartControl();
  CheckWishes();
  // A primary is handed over; a secondary may be gone before all clients know.
  if (HasPrimaries()) ExpectNoMoreTrouble(before, TroubleOfCalls(), 0);
  ChangeLoads();
  ChangeDemand();
  PauseForAWhile(drained);
  PinForAWhile();
  PreferForAWhile();
  PoisonForAWhile();
  Maintain();
  const Trouble before_restarts = TroubleOfPrimaries();
  if (RestartEverything() && HasPrimaries()) {
    ExpectNoMoreTrouble(before_restarts, TroubleOfPrimaries(), kMostOnTheWay);
  }
}

bool PlannedEvents::HasPrimaries() const {
  return cell_.full_service && cell_.full_service->replication().strategy() != v1::SECONDARY_ONLY;
}

void PlannedEvents::Join() {
  cell_.Trace("a server joins; from here on only planned things happen");
  cell_.cluster.AddServer();
  cell_.AwaitRest("a server joined");
}

std::string PlannedEvents::Drain() {
  if (cell_.full_service) cell_.checkers.Promise(*cell_.full_service);
  std::string drained = SomeHealthyServer();
  // A move that is called off is tried again after one or two minutes.
  const bool slowly = cell_.Draw(3) == 0 && BeginLongRequests(drained);
  cell_.Trace("drain of " + drained);
  cell_.person.DrainUntilAcknowledged(drained, true);
  cell_.AwaitRest("a server was drained", slowly ? 2 : 1);
  return drained;
}

void PlannedEvents::RestartControl() {
  const std::string& leaves = cell_.cluster.controls()[0];
  cell_.Trace("restart of " + leaves);
  cell_.cluster.Terminate(leaves);
  cell_.cluster.Start(leaves);
  cell_.AwaitRest("a control-plane process was restarted");
  cell_.CheckAcknowledged();
}

void PlannedEvents::ChangeLoads() {
  if (!cell_.well() || !cell_.cluster.loads.on()) return;
  cell_.Trace("shards have other loads");
  if (cell_.full_service) cell_.checkers.Promise(*cell_.full_service);
  cell_.cluster.loads.Change();
  cell_.AwaitRest("shards had other loads");
}

void PlannedEvents::ChangeDemand() {
  if (!cell_.well() || !cell_.cluster.demand.on()) return;
  cell_.Trace("shards are asked for from other regions");
  if (cell_.full_service) cell_.checkers.Promise(*cell_.full_service);
  cell_.cluster.demand.Change();
  AwaitDemand();
  if (cell_.Draw(2) == 0) cell_.RestartLeader();
  AwaitDemand();
}

// Until requests have come from where they come from now for long enough.
void PlannedEvents::AwaitDemand() {
  const auto spec = cell_.checkers.StoredSpec();
  if (!cell_.well() || !spec || !cell_.cluster.demand.on()) return;
  cell_.RunFor(4 * Milliseconds(spec->placement().follow_demand().after_ms()));
  cell_.AwaitRest("shards were asked for from other regions");
  CheckDemand();
}

void PlannedEvents::PauseForAWhile(const std::string& drained) {
  constexpr Duration kUnderWay = Seconds(2);  // what was begun before is finished
  // (What is being dropped, while long requests last, is finished. And what a load asked for just
  // before, and found no room, is placed where there is room again, as what is lost: seed 168.)
  const bool steady = !cell_.cluster.loads.on() && cell_.cluster.habits.sick.empty() &&
                      cell_.cluster.lasting.gray.empty() &&
                      cell_.checkers.AssignmentOf(drained).replicas().empty();
  if (!cell_.well() || !steady || cell_.Draw(2) == 0) return;
  cell_.Trace("the app is paused");
  cell_.person.PauseUntilAcknowledged();
  cell_.AwaitAcknowledged();
  cell_.RunFor(kUnderWay);
  const uint64_t writes = cell_.checkers.AssignmentWrites();
  cell_.person.DrainUntilAcknowledged(drained, false);
  cell_.AwaitAcknowledged();
  if (cell_.Draw(2) == 0) cell_.RestartLeader();
  cell_.RunFor(Seconds(15));
  if (cell_.checkers.AssignmentWrites() != writes) {
    cell_.checkers.Violate("paused: an assignment was written while the app was paused");
  }
  cell_.Trace("the app is resumed");
  cell_.person.ResumeUntilAcknowledged();
  cell_.AwaitAcknowledged();
  if (cell_.full_service) cell_.checkers.Promise(*cell_.full_service);
  cell_.AwaitRest("the app was resumed");
  cell_.person.DrainUntilAcknowledged(drained, true);
  cell_.AwaitAcknowledged();
  cell_.AwaitRest("a server was drained again");
}

void PlannedEvents::PinForAWhile() {
  const auto spec = cell_.checkers.StoredSpec();
  if (!cell_.well() || !spec || cell_.Draw(2) == 0 || !MayRestart(*spec)) return;
  const std::set<std::string> free = cell_.person.Free();
  const std::string server = *std::next(free.begin(), cell_.Draw(static_cast<int>(free.size())));
  const v1::AssignmentRecord held = cell_.checkers.AssignmentOf(server);
  if (held.replicas().empty()) return;
  const v1::AssignedReplica& pinned = held.replicas(cell_.Draw(held.replicas_size()));
  cell_.Trace(absl::StrCat(pinned.shard(), " is pinned, and drain of ", server));
  cell_.checkers.Promise(*spec);
  cell_.person.PinUntilAcknowledged(pinned.shard());
  cell_.AwaitAcknowledged();
  cell_.person.DrainUntilAcknowledged(server, true);
  cell_.AwaitAcknowledged();
  if (cell_.Draw(2) == 0) cell_.RestartLeader();
  cell_.RunFor(Seconds(15));
  const v1::AssignmentRecord now = cell_.checkers.AssignmentOf(server);
  const bool stayed = std::any_of(
      now.replicas().begin(), now.replicas().end(), [&](const v1::AssignedReplica& replica) {
        return replica.shard() == pinned.shard() && replica.epoch() == pinned.epoch() &&
               replica.role() == pinned.role() && replica.phase() == pinned.phase();
      });
  if (!stayed) {
    cell_.checkers.Violate(absl::StrCat("pinned: the replica of ", pinned.shard(), " on ", server,
                                        " went, or changed, while the shard was pinned"));
  }
  cell_.Trace(absl::StrCat(pinned.shard(), " is unpinned"));
  cell_.person.UnpinUntilAcknowledged(pinned.shard());
  cell_.AwaitAcknowledged();
  cell_.AwaitRest("a shard was unpinned");
  cell_.person.DrainUntilAcknowledged(server, false);
  cell_.AwaitAcknowledged();
  cell_.AwaitRest("a drain was taken back");
}

void PlannedEvents::PreferForAWhile() {
  // Drawn by itself: what comes after it goes on as it did.
  Random random(cell_.options.seed);
  const auto spec = SpecIfAllMayMove();
  if (!spec || random.Below(2) == 0) return;
  // (The only replica cannot be in two regions.)
  if (!spec->placement().region_replicas().empty() && WantedReplicas(*spec) == 1) return;
  const std::set<std::string> free = cell_.person.Free();
  const std::string& server = *std::next(free.begin(), random.Below(free.size()));
  const std::string region = PlaceOf(cell_.cluster, server).region();
  std::vector<std::string> shards;
  for (const v1::Shard& shard : spec->key_space().shards()) {
    if (random.Below(3) != 0) shards.push_back(shard.id());
  }
  cell_.Trace(absl::StrCat(shards.size(), " shards are wanted in ", region));
  cell_.checkers.Promise(*spec);
  cell_.person.PreferUntilAcknowledged(shards, region);
  cell_.AwaitAcknowledged();
  if (random.Below(2) == 0) cell_.RestartLeader();
  cell_.AwaitRest("shards were wanted in a region");
  for (const std::string& shard : shards) {
    if (!cell_.well() || IsIn(region, shard)) continue;
    cell_.checkers.Violate(absl::StrCat("preferred: ", shard, " is not in ", region));
  }
  cell_.person.PreferUntilAcknowledged({}, "");
  cell_.AwaitAcknowledged();
  cell_.AwaitRest("shards may be in any region again");
  CheckWishes();
  AwaitDemand();
}

// Where something is sick, or an operation has begun (seed 13654), moves may wait.
std::optional<v1::AppSpec> PlannedEvents::SpecIfAllMayMove() {
  auto spec = cell_.checkers.StoredSpec();
  const bool may = cell_.well() && spec && MayRestart(*spec) &&
                   OperationsStored(cell_.cluster).operations_size() == 0;
  return may ? spec : std::nullopt;
}

void PlannedEvents::CheckWishes() {
  const auto spec = SpecIfAllMayMove();
  if (!spec) return;
  const std::set<std::string> regions = FreeRegions();
  for (const v1::RegionReplicas& wish : spec->placement().region_replicas()) {
    if (!regions.contains(wish.region())) continue;
    for (const v1::Shard& shard : spec->key_space().shards()) {
      if (IsIn(wish.region(), shard.id())) continue;
      cell_.checkers.Violate(
          absl::StrCat("wished: ", shard.id(), " has no replica in ", wish.region()));
    }
  }
}

void PlannedEvents::CheckDemand() {
  const auto spec = SpecIfAllMayMove();
  if (!spec) return;
  const std::set<std::string> regions = FreeRegions();
  for (const v1::Shard& shard : spec->key_space().shards()) {
    const std::string& region = cell_.cluster.demand.Of(shard.id());
    if (!regions.contains(region)) continue;
    if (!IsIn(region, shard.id(), /*as_primary=*/HasPrimaries())) {
      cell_.checkers.Violate(absl::StrCat("asked for: ", shard.id(), " has no ",
                                          HasPrimaries() ? "primary" : "replica", " in ", region,
                                          ", where most of its requests come from"));
    }
  }
}

std::set<std::string> PlannedEvents::FreeRegions() {
  std::set<std::string> regions;
  for (const std::string& name : cell_.person.Free()) {
    regions.insert(PlaceOf(cell_.cluster, name).region());
  }
  return regions;
}

bool PlannedEvents::IsIn(const std::string& region, const std::string& shard, bool as_primary) {
  for (const std::string& name : cell_.cluster.servers()) {
    if (PlaceOf(cell_.cluster, name).region() != region) continue;
    const v1::AssignmentRecord held = cell_.checkers.AssignmentOf(name);
    for (const v1::AssignedReplica& replica : held.replicas()) {
      const bool counts = replica.role() == v1::PRIMARY || !as_primary;
      if (counts && replica.shard() == shard && replica.phase() == v1::GRANTED) return true;
    }
  }
  return false;
}

void PlannedEvents::PoisonForAWhile() {
  // On each server three times: on three at once, two more within the pause, three more after it.
  constexpr uint64_t kMostTries = 3 * (3 + 2 + 3);
  Random random(cell_.options.seed + 1);  // by itself, as in PreferForAWhile()
  const auto spec = cell_.checkers.StoredSpec();
  if (!cell_.well() || !spec || random.Below(2) == 0 || !MayRestart(*spec)) return;
  if (spec->moves().primary_move() == v1::DROP_THEN_ADD) return;  // it is not served meanwhile
  const std::set<std::string> free = cell_.person.Free();
  const std::string& server = *std::next(free.begin(), random.Below(free.size()));
  const v1::AssignmentRecord held = cell_.checkers.AssignmentOf(server);
  if (held.replicas().empty()) return;
  AppHabits& habits = cell_.cluster.habits;
  habits.can_add_poison = server;
  habits.poison = held.replicas(random.Below(held.replicas_size())).shard();
  habits.poison_tries = 0;
  cell_.Trace(absl::StrCat("no other server can add ", habits.poison, ", and drain of ", server));
  cell_.checkers.Promise(*spec);
  cell_.person.DrainUntilAcknowledged(server, true);
  cell_.AwaitAcknowledged();
  cell_.RunFor(Seconds(60));
  if (habits.poison_tries > kMostTries) {
    cell_.checkers.Violate(absl::StrCat("storm: other servers were asked to add ", habits.poison,
                                        " ", habits.poison_tries, " times in a minute"));
  }
  cell_.Trace(absl::StrCat(std::exchange(habits.poison, {}), " can be added again"));
  cell_.AwaitRest("a shard could be added again", 2);
  cell_.person.DrainUntilAcknowledged(server, false);
  cell_.AwaitAcknowledged();
  cell_.AwaitRest("a drain was taken back");
}

// ---- a maintenance ----

void PlannedEvents::Maintain() {
  constexpr Duration kNotice = Seconds(20);
  const auto spec = cell_.checkers.StoredSpec();
  if (!cell_.well() || !spec || cell_.Draw(2) == 0 || !MayRestart(*spec)) return;
  const v1::DrainScope scope = SomeScope(WantedReplicas(*spec) == 1);
  MaintenanceEvent event(cell_.cluster, cell_.checkers, scope, ServersIn(scope),
                         cell_.random.Next());
  const Duration length = Seconds(15 + cell_.Draw(20));
  const v1::Maintenance notice = event.Notice(kNotice, length);
  cell_.Trace(event.Describe());
  cell_.checkers.Promise(*spec);
  cell_.person.NotifyUntilAcknowledged(notice);
  if (!cell_.RunFor(Milliseconds(notice.start_ms() - cell_.cluster.schedule.WallMs()))) return;
  cell_.checkers.Promise(*spec, /*killed=*/true);
  cell_.may_be_away = WantedReplicas(*spec) > 1 ? 1 : 0;
  const Trouble before = TroubleOfPrimaries();
  cell_.Trace("the maintenance begins");
  event.Strike(*spec);
  // A leader that comes when the sessions of those servers have ended knows them from records only.
  const bool leader_goes = cell_.Draw(3) != 0;
  const Duration ended = cell_.cluster.session_timeout() + Seconds(2);
  if (leader_goes && cell_.RunFor(ended)) cell_.RestartLeader();
  cell_.RunFor(length - Seconds(1) - (leader_goes ? ended : Duration(0)));
  event.CheckNothingWasGivenUp();
  cell_.RunFor(Seconds(1));
  cell_.Trace("the maintenance is over");
  event.End();
  cell_.AwaitRest("a maintenance was over");
  // (A secondary that is cut off or killed holds up its primary's writes until its session ends.)
  if (WantedReplicas(*spec) == 1 && !leader_goes) {
    ExpectNoMoreTrouble(before, TroubleOfPrimaries(), kMostOnTheWay);
  }
  cell_.may_be_away.reset();
}

// A server that may be away, by its name or its rack. `regions`: or a region that is not all there
// is, so that what leaves it has somewhere to go.
v1::DrainScope PlannedEvents::SomeScope(bool regions) {
  const std::set<std::string> free = cell_.person.Free();
  std::set<std::string> of;  // regions with free servers
  for (const std::string& name : free) of.insert(PlaceOf(cell_.cluster, name).region());
  const std::string& server = *std::next(free.begin(), cell_.Draw(static_cast<int>(free.size())));
  v1::DrainScope scope;
  // (Where servers stand matters to a domain only.)
  if (cell_.Draw(4) == 0) {
    scope.set_server(server);
    return scope;
  }
  *scope.mutable_domain() = PlaceOf(cell_.cluster, server);
  if (regions && of.size() > 1 && cell_.Draw(2) == 0) {
    scope.mutable_domain()->clear_datacenter();
    scope.mutable_domain()->clear_rack();
  }
  return scope;
}

std::set<std::string> PlannedEvents::ServersIn(const v1::DrainScope& scope) {
  std::set<std::string> servers;
  for (const std::string& name : cell_.cluster.servers()) {
    const v1::FaultDomain at = PlaceOf(cell_.cluster, name);
    if (Covers(scope, name, {at.region(), at.datacenter(), at.rack()})) servers.insert(name);
  }
  return servers;
}

// ---- rolling restarts ----

bool PlannedEvents::RestartEverything() {
  const auto spec = cell_.checkers.StoredSpec();
  if (!cell_.well() || !spec || !MayRestart(*spec)) return false;
  const bool graceful = cell_.Draw(3) != 0;
  cell_.restarts.ExpectCalm();
  cell_.checkers.Promise(*spec, !graceful);
  cell_.may_be_away = MostAway(*spec);
  const bool slow = cell_.Draw(2) == 0;
  if (slow) cell_.cluster.habits.slowest_add = Seconds(1 + cell_.Draw(5));
  cell_.RollOut(graceful ? Restarts::kGraceful : Restarts::kRude);
  const bool leaders_go = cell_.Draw(2) == 0;
  if (leaders_go) RestartLeaderNowAndThen(cell_.cluster.schedule.now() + Seconds(60));
  AwaitRestarts();
  for (const auto& manager : cell_.managers) manager->GiveUp();
  cell_.cluster.habits.slowest_add = Milliseconds(50);
  cell_.Trace(
      absl::StrCat("all servers are restarted; operations so far: ", cell_.restarts.acted()));
  cell_.AwaitRest("all servers were restarted");
  cell_.may_be_away.reset();
  return graceful && !slow && !leaders_go;
}

void PlannedEvents::AwaitRestarts() {
  constexpr Duration kPatience = Seconds(900);
  const TimePoint give_up = cell_.cluster.schedule.now() + kPatience;
  const auto done = [this] {
    return std::all_of(cell_.managers.begin(), cell_.managers.end(),
                       [](const auto& manager) { return manager->done(); });
  };
  while (cell_.RunFor(kLook) && !done()) {
    if (cell_.cluster.schedule.now() < give_up) continue;
    std::string left;
    for (const auto& manager : cell_.managers) absl::StrAppend(&left, " ", manager->Describe());
    cell_.checkers.Violate(absl::StrCat("restart: not all is done ", kPatience / Seconds(1),
                                        " s after it was wanted:", left));
  }
}

// A takeover in the middle of operations: what was approved is still approved.
void PlannedEvents::RestartLeaderNowAndThen(TimePoint until) {
  cell_.cluster.schedule.After(Seconds(1 + cell_.Draw(10)), [this, until] {
    if (cell_.cluster.schedule.now() > until) return;
    cell_.RestartLeader();
    RestartLeaderNowAndThen(until);
  });
}

// Something can be taken away, and what leaves a server has another one to go to. (One on which
// everything fails counts as away for ever; one on which an operation has begun, whose manager has
// forgotten it, is given nothing before the time of that is over: seed 3372.)
bool PlannedEvents::MayRestart(const v1::AppSpec& spec) const {
  std::set<std::string> free = cell_.person.Free();
  const v1::StoredOperations under_way = OperationsStored(cell_.cluster);
  for (const v1::StoredOperation& operation : under_way.operations()) {
    free.erase(operation.server());
  }
  return cell_.cluster.habits.sick.empty() && cell_.cluster.lasting.gray.empty() &&
         free.size() > WantedReplicas(spec);
}

// ---- requests ----

PlannedEvents::Trouble PlannedEvents::TroubleOfCalls() const {
  Trouble all;
  for (const auto& client : cell_.cluster.clients()) {
    for (const auto& [shard, times] : client->trouble()) all[shard] += times;
  }
  return all;
}

PlannedEvents::Trouble PlannedEvents::TroubleOfPrimaries() const {
  Trouble all;
  for (const auto& client : cell_.cluster.clients()) {
    for (const auto& [shard, times] : client->primary_trouble()) all[shard] += times;
  }
  return all;
}

// What a server cannot forward, or the new owner cannot add, is refused.
void PlannedEvents::ExpectNoMoreTrouble(const Trouble& before, const Trouble& now, uint64_t most) {
  for (const auto& [shard, times] : now) {
    const auto known = before.find(shard);
    const uint64_t more = times - (known == before.end() ? 0 : known->second);
    if (more <= most || cell_.checkers.IsConcerned(shard)) continue;
    cell_.checkers.Violate(absl::StrCat("B: only planned things happened, and ", more,
                                        " requests for ", shard, " were refused or failed"));
  }
}

// Requests that outlive every drain time-out: the shard stays until they have ended.
bool PlannedEvents::BeginLongRequests(const std::string& name) {
  SimServer* server = cell_.cluster.server(name);
  if (server == nullptr || !cell_.full_service) return false;
  cell_.Trace("long requests at " + name);
  for (const v1::Shard& shard : cell_.full_service->key_space().shards()) {
    if (cell_.Draw(2) == 0) server->WorkLong(shard.id(), Seconds(25));
  }
  return true;
}

// Not the first one: it was there from the beginning, and has most.
std::string PlannedEvents::SomeHealthyServer() const {
  for (const std::string& name : cell_.cluster.servers()) {
    if (name != cell_.cluster.servers()[0] && cell_.cluster.healthy().contains(name)) return name;
  }
  return cell_.cluster.servers()[0];
}

}  // namespace shardmanager::simulation
