#include "whatif/what_if.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/drain.h"
#include "model/load.h"
#include "model/spec/spec_validation.h"
#include "model/text.h"
#include "whatif/imagined_cell.h"
#include "whatif/outlook.h"
#include "whatif/states.h"

namespace shardmanager::whatif {
namespace {

using orchestrator::ServerLife;

constexpr uint32_t kMostAdded = 10'000;
constexpr double kMostFactor = 1'000;
constexpr uint32_t kMostLoadMs = 86'400'000;
constexpr uint32_t kDefaultLoadMs = 1'000;
constexpr Duration kMostTime = Seconds(86'400);

bool IsIn(const v1::DrainScope& scope, const v1::ServerStatus& server) {
  const v1::FaultDomain& at = server.fault_domain();
  return Covers(scope, server.server(), {at.region(), at.datacenter(), at.rack()});
}

// ---- what is wrong ----

using Problems = std::vector<std::string>;

void CheckApp(const v1::AppStatus& app, Problems& problems) {
  for (const SpecProblem& problem : ValidateSpec(app.spec())) {
    problems.push_back(absl::StrCat("app.spec.", problem.ToString()));
  }
  if (app.spec().orchestrator() == v1::APPLICATION) {
    problems.push_back(
        "app.spec.orchestrator: found application; allowed: an app whose shards are "
        "placed by Shard Manager");
  }
  if (app.deleting()) problems.push_back("app.deleting: found true; allowed: false");
}

void CheckLoads(const std::string& path,
                const google::protobuf::RepeatedPtrField<v1::MetricUse>& loads,
                Problems& problems) {
  const auto fits = [](double amount) { return amount >= 0 && amount <= kMostLoad; };
  for (const v1::MetricUse& use : loads) {
    if (fits(use.used()) && fits(use.capacity())) continue;
    problems.push_back(absl::StrCat(path, ": loads of ", Quoted(use.metric()), ": found ",
                                    fits(use.used()) ? use.capacity() : use.used(),
                                    "; allowed: 0 to 1e12"));
  }
}

// Of one shard.
void CheckReplicas(const v1::AppSpec& spec, const v1::ShardStatus& shard,
                   const std::set<std::string>& servers, Problems& problems) {
  const std::string path = absl::StrCat("shards: ", Quoted(shard.shard()), ": replicas");
  std::set<std::string> holders;
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    if (!servers.contains(replica.server()) || !holders.insert(replica.server()).second) {
      problems.push_back(absl::StrCat(path, ": found server ", Quoted(replica.server()),
                                      "; allowed: each of `servers`, once for a shard"));
    }
    const auto strategy = spec.replication().strategy();
    const bool fits = replica.role() == v1::PRIMARY     ? strategy != v1::SECONDARY_ONLY
                      : replica.role() == v1::SECONDARY ? strategy != v1::PRIMARY_ONLY
                                                        : false;
    if (!fits) {
      problems.push_back(absl::StrCat(path, ": found role ", EnumLabel(replica.role()),
                                      "; allowed: one that replication.strategy has"));
    }
    if (!IsKnownState(replica)) {
      problems.push_back(absl::StrCat(path, ": found state ", Quoted(replica.state()),
                                      "; allowed: as in ReplicaStatus"));
    }
    CheckLoads(path, replica.loads(), problems);
  }
}

void CheckDemand(const v1::ShardStatus& shard, Problems& problems) {
  for (const v1::ShardDemand::Region& region : shard.demand().regions()) {
    // Written so that NaN, which compares with nothing, is refused.
    if (region.share() >= 0 && region.share() <= 1) continue;
    problems.push_back(absl::StrCat("shards: ", Quoted(shard.shard()), ": demand of ",
                                    Quoted(region.region()), ": found share ", region.share(),
                                    "; allowed: 0 to 1"));
  }
}

void CheckSnapshot(const v1::AppSnapshot& snapshot, Problems& problems) {
  CheckApp(snapshot.app(), problems);
  std::set<std::string> servers;
  for (const v1::ServerStatus& server : snapshot.servers()) {
    if (server.server().empty() || !servers.insert(server.server()).second) {
      problems.push_back(absl::StrCat("servers: found ", Quoted(server.server()),
                                      " twice, or without a name; allowed: each server once"));
    }
    if (!IsKnownState(server)) {
      problems.push_back(absl::StrCat("servers: ", Quoted(server.server()), ": found state ",
                                      Quoted(server.state()), "; allowed: as in ServerStatus"));
    }
    CheckLoads(absl::StrCat("servers: ", Quoted(server.server())), server.loads(), problems);
  }
  std::set<std::string> shards;
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    if (!shards.insert(shard.shard()).second) {
      problems.push_back(absl::StrCat("shards: found ", Quoted(shard.shard()),
                                      " twice; allowed: each shard once"));
    }
    CheckReplicas(snapshot.app().spec(), shard, servers, problems);
    CheckDemand(shard, problems);
  }
}

void CheckScopes(const char* field,
                 const google::protobuf::RepeatedPtrField<v1::DrainScope>& scopes,
                 const v1::AppSnapshot& snapshot, Problems& problems) {
  for (int i = 0; i < scopes.size(); ++i) {
    const std::string path = absl::StrCat(field, "[", i, "]");
    if (const absl::Status s = ValidateScope(scopes[i]); !s.ok()) {
      problems.push_back(absl::StrCat(path, ".", std::string(s.message())));
      continue;
    }
    const bool any =
        std::any_of(snapshot.servers().begin(), snapshot.servers().end(),
                    [&](const auto& server) { return IsLive(server) && IsIn(scopes[i], server); });
    if (any) continue;
    problems.push_back(
        absl::StrCat(path, ": found ", ToString(scopes[i]),
                     ", where no server is live; allowed: a place with live servers"));
  }
}

void CheckChange(const v1::AppSnapshot& snapshot, const v1::ImaginedChange& change,
                 Problems& problems) {
  CheckScopes("lose", change.lose(), snapshot, problems);
  CheckScopes("drain", change.drain(), snapshot, problems);
  uint64_t added = 0;
  for (const v1::AddedServers& add : change.add()) added += add.count();
  const bool none = std::any_of(change.add().begin(), change.add().end(),
                                [](const v1::AddedServers& add) { return add.count() == 0; });
  if (none || added > kMostAdded) {
    problems.push_back(absl::StrCat("add.count: found ", none ? 0 : added, "; allowed: 1 to ",
                                    kMostAdded, " in all"));
  }
  if (!(change.load_factor() >= 0) || change.load_factor() > kMostFactor) {
    problems.push_back(absl::StrCat("load_factor: found ", change.load_factor(),
                                    "; allowed: above 0 to ", kMostFactor));
  }
  if (change.load_ms() > kMostLoadMs) {
    problems.push_back(
        absl::StrCat("load_ms: found ", change.load_ms(), "; allowed: 0 to ", kMostLoadMs));
  }
  if (!change.has_spec()) return;
  for (const SpecProblem& problem : ValidateSpec(change.spec())) {
    problems.push_back(absl::StrCat("spec.", problem.ToString()));
  }
  const std::string& name = snapshot.app().spec().name();
  if (change.spec().name() != name) {
    problems.push_back(absl::StrCat("spec.name: found ", Quoted(change.spec().name()),
                                    "; allowed: ", Quoted(name), ", the app of the snapshot"));
  }
  if (!problems.empty()) return;
  const absl::Status may = CheckReplacement(snapshot.app().spec(), WithDefaults(change.spec()));
  if (!may.ok()) problems.push_back(absl::StrCat("spec.", std::string(may.message())));
}

absl::Status Check(const v1::AppSnapshot& snapshot, const v1::ImaginedChange& change) {
  Problems problems;
  CheckSnapshot(snapshot, problems);
  if (problems.empty()) CheckChange(snapshot, change, problems);
  constexpr size_t kMostShown = 20;
  if (problems.size() > kMostShown) problems.resize(kMostShown);
  return problems.empty() ? absl::OkStatus()
                          : absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
}

// ---- what happens ----

int64_t InMilliseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// The server that those in the region are like.
const v1::ServerStatus* ModelFor(const v1::AppSnapshot& snapshot, const std::string& region) {
  const v1::ServerStatus* model = nullptr;
  for (const v1::ServerStatus& server : snapshot.servers()) {
    if (!IsLive(server)) continue;
    if (server.fault_domain().region() == region) return &server;
    if (model == nullptr) model = &server;
  }
  return model;
}

class Newcomers {
 public:
  explicit Newcomers(const v1::AppSnapshot& snapshot) : snapshot_(snapshot) {
    for (const v1::ServerStatus& server : snapshot.servers()) {
      names_.insert(server.server());
      if (IsLive(server)) regions_.insert(server.fault_domain().region());
    }
  }

  std::vector<ServerLife> Make(const v1::AddedServers& added) {
    std::vector<ServerLife> lives;
    auto region = regions_.begin();
    for (uint32_t i = 0; i < added.count(); ++i) {
      const bool in_turn = added.region().empty() && !regions_.empty();
      lives.push_back(One(in_turn ? *region : added.region()));
      if (in_turn && ++region == regions_.end()) region = regions_.begin();
    }
    return lives;
  }

 private:
  ServerLife One(const std::string& region) {
    do {
      ++number_;
    } while (names_.contains(absl::StrCat("added-", number_)));
    ServerLife life;
    if (const v1::ServerStatus* model = ModelFor(snapshot_, region); model != nullptr) {
      life = LifeOf(snapshot_.app().spec(), *model);
      if (life.fault_domain.region != region) life.fault_domain = {};
    }
    life.name = absl::StrCat("added-", number_);
    life.incarnation = Incarnation(1);
    life.endpoint = absl::StrCat(life.name, ":1");
    life.fault_domain.region = region;
    life.fault_domain.rack = life.name;
    return life;
  }

  const v1::AppSnapshot& snapshot_;
  std::set<std::string> names_;
  std::set<std::string> regions_;
  uint32_t number_ = 0;
};

// `spec`: the one that holds from now on.
void MakeHappen(const v1::AppSnapshot& snapshot, const v1::ImaginedChange& change,
                const v1::AppSpec& spec, ImaginedCell& cell) {
  orchestrator::OperatorOrders ordered = cell.ordered();
  for (const v1::DrainScope& scope : change.drain()) {
    v1::Drain& drain = ordered.drains.emplace_back();
    *drain.mutable_scope() = scope;
    drain.set_reason("imagined");
  }
  if (change.has_spec() || change.drain_size() > 0) cell.Apply(spec, std::move(ordered));
  if (change.load_factor() > 0) cell.SetLoadFactor(change.load_factor());
  Newcomers newcomers(snapshot);
  for (const v1::AddedServers& added : change.add()) {
    for (ServerLife& life : newcomers.Make(added)) cell.Join(std::move(life));
  }
  for (const v1::ServerStatus& server : snapshot.servers()) {
    const bool lost = std::any_of(change.lose().begin(), change.lose().end(),
                                  [&](const auto& scope) { return IsIn(scope, server); });
    if (lost) cell.Lose(server.server());
  }
}

// Longer than anything that the core waits for before it acts again (load_book.h takes a new
// picture after ten minutes). Loads, which are averaged, are known well enough by then, too.
Duration QuietFor(const v1::AppSpec& spec, Duration load_time) {
  const Duration down_after =
      spec.has_scaling() ? Milliseconds(spec.scaling().down_after_ms()) : Duration(0);
  // (0 without such a policy.)
  const Duration moved_after = Milliseconds(spec.placement().follow_demand().after_ms());
  return std::max({Seconds(660), Milliseconds(spec.failover().delay_ms()) + Seconds(60),
                   down_after + Seconds(60), moved_after + Seconds(60)}) +
         8 * Milliseconds(spec.moves().collect_interval_ms()) +
         2 * Milliseconds(spec.moves().balance_interval_ms()) + load_time;
}

}  // namespace

absl::StatusOr<v1::WhatIfReport> Simulate(v1::AppSnapshot snapshot,
                                          const v1::ImaginedChange& change) {
  if (absl::Status s = Check(snapshot, change); !s.ok()) return s;
  const v1::AppSpec now = WithDefaults(snapshot.app().spec());
  const v1::AppSpec then = change.has_spec() ? WithDefaults(change.spec()) : now;
  *snapshot.mutable_app()->mutable_spec() = now;
  const Duration load_time =
      Milliseconds(change.load_ms() == 0 ? kDefaultLoadMs : change.load_ms());

  ImaginedCell cell(snapshot, load_time);
  const bool rested = cell.RunToRest(QuietFor(now, load_time), kMostTime);
  const v1::AppSnapshot settled = cell.Snapshot();
  const uint32_t loads_before = cell.loads_begun();
  const TimePoint begin = cell.now();
  MakeHappen(snapshot, change, then, cell);

  v1::WhatIfReport report;
  report.set_at_rest(cell.RunToRest(QuietFor(then, load_time), kMostTime) && rested);
  *report.mutable_placement() = cell.Snapshot();
  report.mutable_placement()->set_taken_ms(snapshot.taken_ms());
  *report.mutable_before() = OutlookOf(snapshot);
  *report.mutable_after() = OutlookOf(report.placement());
  CountDifferences(settled, report.placement(), report);
  report.set_loads_begun_anyway(loads_before);
  report.set_loads_begun(cell.loads_begun() - loads_before);
  report.set_served_after_ms(InMilliseconds(cell.last_served() - begin));
  report.set_at_rest_after_ms(InMilliseconds(cell.last_step() - begin));
  return report;
}

}  // namespace shardmanager::whatif
