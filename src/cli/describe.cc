#include "cli/describe.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands/top_report.h"
#include "cli/time_text.h"
#include "model/drain.h"
#include "model/pause.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

constexpr size_t kMostEvents = 20;
constexpr int kMostShards = 50;

// Events of one kind that came one after the other: a rebalance is hundreds of moves.
struct Run {
  const v1::ControlEvent* last;
  size_t count;
};

std::vector<Run> RunsOf(const std::vector<v1::ControlEvent>& events,
                        const std::function<bool(const v1::ControlEvent&)>& wanted) {
  std::vector<Run> runs;
  for (const v1::ControlEvent& event : events) {
    if (!wanted(event)) continue;
    if (runs.empty() || runs.back().last->kind() != event.kind()) runs.push_back({&event, 0});
    runs.back().last = &event;
    ++runs.back().count;
  }
  return runs;
}

std::string Events(const Surroundings& around,
                   const std::function<bool(const v1::ControlEvent&)>& wanted) {
  const std::vector<Run> runs = RunsOf(around.events, wanted);
  if (runs.empty()) return "\nEvents:  none\n";
  Table table({"AGE", "KIND", "SERVER", "SHARD", "MESSAGE"});
  for (size_t i = runs.size() - std::min(runs.size(), kMostEvents); i < runs.size(); ++i) {
    const v1::ControlEvent& event = *runs[i].last;
    const std::string times = runs[i].count == 1 ? "" : absl::StrCat(" (x", runs[i].count, ")");
    table.AddRow({{AgeText(std::chrono::milliseconds(around.now_ms - event.time_ms()))},
                  {Shown(event.kind()) + times},
                  {Shown(event.server())},
                  {Shown(event.shard())},
                  {Shown(event.message())}});
  }
  return absl::StrCat("\nEvents:\n", table.Render(around.colour, kIndent));
}

// "120 of 150 (registered: 200)": what a server carries, of what it can.
std::string UseText(const v1::MetricUse& use) {
  std::string text = use.capacity() > 0
                         ? absl::StrFormat("%.6g of %.6g", use.used(), use.capacity())
                         : absl::StrFormat("%.6g; no limit", use.used());
  if (!use.has_registered()) return text;
  return use.registered() > 0 ? absl::StrFormat("%s (registered: %.6g)", text, use.registered())
                              : absl::StrCat(text, " (registered: no limit)");
}

std::string Ms(uint32_t ms) { return AgeText(std::chrono::milliseconds(ms)); }

std::string PlacementText(const v1::PlacementPolicy& placement) {
  std::vector<std::string> parts;
  if (!placement.regions().empty()) {
    parts.push_back(absl::StrCat("in ", Shown(absl::StrJoin(placement.regions(), ", "))));
  }
  if (!placement.preferred_region().empty()) {
    parts.push_back(absl::StrCat("preferably in ", Shown(placement.preferred_region())));
  }
  if (placement.spread() != 0) {
    parts.push_back(absl::StrCat("one replica of a shard per ", EnumLabel(placement.spread())));
  }
  for (const v1::SpreadLimit& limit : placement.spread_limits()) {
    parts.push_back(absl::StrCat("at most ", limit.replicas(), " per ", EnumLabel(limit.level()),
                                 limit.soft() ? " if there is room" : ""));
  }
  for (const v1::RegionReplicas& wanted : placement.region_replicas()) {
    parts.push_back(
        absl::StrCat(wanted.replicas(), " in ", Shown(wanted.region()), " if there is room"));
  }
  if (placement.has_follow_demand()) {
    const v1::DemandPolicy& demand = placement.follow_demand();
    const bool recommend = demand.mode() == v1::DemandPolicy::RECOMMEND;
    parts.push_back(absl::StrCat(
        recommend ? "where requests come from is shown, and not followed"
                  : "where requests come from",
        demand.after_ms() == 0 ? "" : absl::StrCat(" (after ", Ms(demand.after_ms()), ")")));
  }
  if (placement.max_replicas_per_server() != 0) {
    parts.push_back(absl::StrCat(
        "at most ", Counted(placement.max_replicas_per_server(), "replica"), " per server"));
  }
  return absl::StrJoin(parts, "; ");
}

std::string FailoverText(const v1::FailoverPolicy& failover) {
  std::string text = failover.delay_ms() == 0
                         ? "at once"
                         : absl::StrCat(Ms(failover.delay_ms()), " after a server is lost");
  if (failover.max_concurrent() != 0) {
    absl::StrAppend(&text, ", at most ", Counted(failover.max_concurrent(), "replica"), " at once");
  }
  if (failover.max_concurrent_per_server() != 0) {
    absl::StrAppend(&text, ", at most ", failover.max_concurrent_per_server(), " to one server");
  }
  if (failover.max_concurrent_per_shard() != 0) {
    absl::StrAppend(&text, ", at most ", failover.max_concurrent_per_shard(), " of one shard");
  }
  if (!failover.region_order().empty()) {
    absl::StrAppend(&text, ", ", Shown(absl::StrJoin(failover.region_order(), ", ")), " first");
  }
  if (failover.has_mass_failure()) {
    absl::StrAppend(&text, "; when ", Shown(failover.mass_failure().servers()),
                    " of the servers are lost: at most ", failover.mass_failure().max_concurrent(),
                    " at once, last copies waited for ", Ms(failover.mass_failure().patience_ms()));
  }
  if (failover.on_partition() != 0) {
    absl::StrAppend(&text, "; cut off: ", EnumLabel(failover.on_partition()));
  }
  return text;
}

std::string MovesText(const v1::AppStatus& app) {
  const v1::MoveLimits& moves = app.spec().moves();
  std::string text = absl::StrCat(app.moves_in_flight(), " in flight");
  if (moves.max_concurrent() != 0) {
    absl::StrAppend(&text, "; at most ", moves.max_concurrent(), ", ",
                    moves.max_concurrent_per_server(), " per server; a look every ",
                    Ms(moves.balance_interval_ms()));
  }
  if (moves.has_drain()) {
    absl::StrAppend(&text, "; drains: at most ", moves.drain().max_concurrent(), ", ",
                    moves.drain().max_concurrent_per_server(), " per server");
  }
  return text;
}

// The first shards that are not as they should be.
std::string TroublesOf(const v1::AppStatus& app, bool colour) {
  if (app.troubles().empty()) return "";
  Table table({"SHARD", "STATE", "REASON"});
  for (const v1::ShardTrouble& trouble : app.troubles()) {
    table.AddRow({{Shown(trouble.shard())}, StateCell(trouble.state()), {Shown(trouble.reason())}});
  }
  const uint32_t all = app.health().shards_unserved() + app.health().shards_below_replicas();
  const auto shown = static_cast<uint32_t>(app.troubles_size());
  return absl::StrCat(
      "\nNot as wanted (", shown, " of ", Counted(all, "shard"), "):\n",
      table.Render(colour, kIndent),
      shown < all ? absl::StrCat(kIndent, "all of them: shardctl get shards --app ",
                                 Shown(app.spec().name()), " --state unserved --state degraded\n")
                  : "");
}

std::string Conditions(const v1::AppStatus& app) {
  if (app.conditions_size() < 2) return "";  // the status says it
  std::string text = "\nConditions:\n";
  for (const std::string& condition : app.conditions()) {
    absl::StrAppend(&text, kIndent, Shown(condition), "\n");
  }
  return text;
}

std::string DomainText(const v1::FaultDomain& domain) {
  std::vector<std::string> parts;
  for (const std::string& part : {domain.region(), domain.datacenter(), domain.rack()}) {
    if (!part.empty()) parts.push_back(Shown(part));
  }
  return absl::StrJoin(parts, " / ");
}

const v1::ReplicaStatus* ReplicaOn(const std::string& server, const v1::ShardStatus& shard) {
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    if (replica.server() == server) return &replica;
  }
  return nullptr;
}

std::string ShardsOn(const v1::ServerStatus& server, const v1::GetShardsResponse& shards,
                     bool colour) {
  Table table({"SHARD", "ROLE", "STATE", "EPOCH", "REASON"});
  int held = 0;
  for (const v1::ShardStatus& shard : shards.shards()) {
    const v1::ReplicaStatus* replica = ReplicaOn(server.server(), shard);
    if (replica == nullptr || ++held > kMostShards) continue;
    table.AddRow({{Shown(shard.shard())},
                  {EnumLabel(replica->role())},
                  StateCell(replica->state()),
                  {absl::StrCat(replica->epoch())},
                  {Shown(replica->reason())}});
  }
  if (held == 0) return "\nShards:  none\n";
  const int more = held - kMostShards;
  return absl::StrCat(
      "\nShards:\n", table.Render(colour, kIndent),
      more <= 0 ? ""
                : absl::StrCat(kIndent, "(and ", more, " more: shardctl get shards --app ",
                               Shown(server.app()), ")\n"));
}

std::string ReplicasOf(const v1::ShardStatus& shard, bool colour) {
  if (shard.replicas().empty()) return "\nReplicas:  none\n";
  Table table({"SERVER", "ROLE", "STATE", "EPOCH", "REASON"});
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    table.AddRow({{Shown(replica.server())},
                  {EnumLabel(replica.role())},
                  StateCell(replica.state()),
                  {absl::StrCat(replica.epoch())},
                  {Shown(replica.reason())}});
  }
  return absl::StrCat("\nReplicas:\n", table.Render(colour, kIndent));
}

// One a line: what, since when, and why.
std::string DrainsOf(const v1::AppStatus& app) {
  std::string text;
  for (const v1::Drain& drain : app.drains()) {
    absl::StrAppend(&text, kIndent, Shown(ToString(drain.scope())), " since ",
                    TimeText(drain.since_ms()), drain.primaries_only() ? ", primaries only" : "",
                    !drain.has_by_clients() ? ""
                                            : absl::StrCat(", for its clients, until ",
                                                           TimeText(drain.by_clients().until_ms()),
                                                           " or until it is restarted"),
                    drain.reason().empty() ? "" : ": ", Shown(drain.reason()), "\n");
  }
  return text.empty() ? "" : absl::StrCat("\nDrains:\n", text);
}

std::string PinsOf(const v1::AppStatus& app) {
  std::string text;
  for (const v1::Pin& pin : app.pins()) {
    absl::StrAppend(&text, kIndent, Shown(pin.shard()), " ", Shown(PinText(pin)), "\n");
  }
  return text.empty() ? "" : absl::StrCat("\nPins:\n", text);
}

// Example: "; weights up to 10, up to 2 of those that are not there".
std::string WeightsOf(const v1::PreferredRegion& region) {
  if (region.heaviest() <= 1) return "";
  const std::string missing =
      region.heaviest_missing() == 0
          ? ""
          : absl::StrCat(", up to ", region.heaviest_missing(), " of those that are not there");
  return absl::StrCat("; weights up to ", region.heaviest(), missing);
}

// Example: "us-east  400 shards, 398 there; 400 ordered".
std::string PreferencesOf(const v1::AppStatus& app) {
  if (app.preferred_regions().empty()) return "";
  std::string text = "\nPreferred regions:";
  if (app.preferences_since_ms() != 0) {
    absl::StrAppend(&text, "  (last ordered ", TimeText(app.preferences_since_ms()),
                    app.preferences_who().empty() ? "" : ", by ", Shown(app.preferences_who()),
                    ")");
  }
  text += "\n";
  for (const v1::PreferredRegion& region : app.preferred_regions()) {
    absl::StrAppend(
        &text, kIndent, Shown(region.region()), "  ", Counted(region.shards(), "shard"), ", ",
        region.met(), " there; ", region.ordered(), " ordered",
        region.by_demand() == 0 ? "" : absl::StrCat(", ", region.by_demand(), " by their requests"),
        WeightsOf(region), region.servers_live() == 0 ? "; no server of the app is there now" : "",
        "\n");
  }
  return text;
}

std::string PreferenceText(const v1::ShardStatus& shard) {
  if (shard.preferred_region().empty()) return "";
  return absl::StrCat(
      Shown(shard.preferred_region()),
      shard.preference_ordered()     ? ", as ordered"
      : shard.preference_by_demand() ? ", as its requests ask"
                                     : ", as the spec says",
      shard.preference_weight() <= 1 ? "" : absl::StrCat(", weight ", shard.preference_weight()),
      shard.preference_met() ? "" : "; no replica there serves");
}

std::string ScalingText(const v1::ShardScaling& scaling) {
  return absl::StrCat(scaling.replicas_wanted(), " of ", scaling.least(), " to ", scaling.most(),
                      " replicas; ", Shown(scaling.message()));
}

std::string ServersOf(const absl::StatusOr<v1::GetServersResponse>& servers, bool colour) {
  if (!servers.ok()) {
    return absl::StrCat("\nServers:  unknown: ", Shown(std::string(servers.status().message())),
                        "\n");
  }
  if (servers->servers().empty()) return "\nServers:  none\n";
  return absl::StrCat("\nServers:\n", ServersTable(*servers, {.colour = colour}, kIndent));
}

std::string ReshapeText(const v1::ShardReshape& reshape) {
  return absl::StrCat(
      absl::StrJoin(reshape.from(), ", "), " into ", absl::StrJoin(reshape.to(), ", "), ", ",
      reshape.waits_for().empty() ? "now" : absl::StrCat("waits: ", reshape.waits_for()));
}

}  // namespace

std::string DescribeApp(const v1::AppStatus& app,
                        const absl::StatusOr<v1::GetServersResponse>& servers,
                        const Surroundings& around) {
  FieldList fields(around.colour);
  fields.Add("App", Shown(app.spec().name()));
  fields.Add("Status", StatusCell(app));
  fields.Add("Strategy", EnumLabel(app.spec().replication().strategy()));
  fields.Add("Shards", absl::StrCat(app.shards(), "; ", app.shards_served(), " served"));
  fields.Add("Replicas",
             absl::StrCat(app.replicas_wanted(), " wanted; ", app.replicas_serving(), " serving"));
  if (app.has_skew()) fields.Add("Requests", SkewText(app.skew()));
  fields.Add("Servers", absl::StrCat(app.servers_known(), " known; ", app.servers_live(), " live"));
  const bool mirrored = app.spec().orchestrator() == v1::APPLICATION;
  if (mirrored) {
    fields.Add("Orchestrator", "the application's own");
  } else {
    fields.Add("Moves", MovesText(app));
  }
  if (app.has_pause()) {
    fields.Add("Paused", Shown(absl::StrCat(PauseText(app.pause()),
                                            app.pause().failover() || app.pause().only_balance()
                                                ? " (what is lost is failed over)"
                                                : " (what is lost stays lost)")));
  }
  if (!mirrored) {
    fields.Add("Map version", VersionText(app.map_version()));
    fields.Add("Placement", PlacementText(app.spec().placement()));
    fields.Add("Failover", FailoverText(app.spec().failover()));
  }
  if (app.spec().commands().timeout_ms() != 0) {
    fields.Add("Commands", absl::StrCat("fail after ", Ms(app.spec().commands().timeout_ms())));
  }
  return absl::StrCat(fields.Render(), Conditions(app), TroublesOf(app, around.colour),
                      DrainsOf(app), PinsOf(app), PreferencesOf(app),
                      ServersOf(servers, around.colour),
                      Events(around, [&](const auto& e) { return e.app() == app.spec().name(); }));
}

std::string DescribeServer(const v1::ServerStatus& server, const v1::GetShardsResponse& shards,
                           const Surroundings& around) {
  FieldList fields(around.colour);
  fields.Add("Server", Shown(server.server()));
  fields.Add("App", Shown(server.app()));
  fields.Add("State", StateCell(server.state()));
  fields.Add("Reason", Shown(server.reason()));
  fields.Add("Endpoint", Shown(server.endpoint()));
  fields.Add("Fault domain", DomainText(server.fault_domain()));
  fields.Add("Incarnation", absl::StrCat(server.incarnation()));
  fields.Add("Replicas",
             absl::StrCat(server.replicas(), "; ", server.replicas_serving(), " serving"));
  fields.Add("Capacity", server.capacity() == 0 ? "no limit of its own"
                                                : Counted(server.capacity(), "replica"));
  for (const v1::MetricUse& use : server.loads()) {
    fields.Add(absl::StrCat("Load ", Shown(use.metric())), UseText(use));
  }
  return absl::StrCat(fields.Render(), ShardsOn(server, shards, around.colour),
                      Events(around, [&](const auto& event) {
                        return event.app() == server.app() && event.server() == server.server();
                      }));
}

std::string DescribeShard(const std::string& app, const v1::ShardStatus& shard,
                          const Surroundings& around) {
  FieldList fields(around.colour);
  fields.Add("Shard", Shown(shard.shard()));
  fields.Add("App", Shown(app));
  fields.Add("State", StateCell(shard.state()));
  fields.Add("Reason", Shown(shard.reason()));
  if (shard.has_pin()) fields.Add("Pin", Shown(PinText(shard.pin())));
  if (shard.has_reshape()) fields.Add("Reshape", Shown(ReshapeText(shard.reshape())));
  if (const std::string region = PreferenceText(shard); !region.empty()) {
    fields.Add("Prefers", region);
  }
  if (shard.has_scaling()) fields.Add("Scaling", ScalingText(shard.scaling()));
  if (shard.has_demand()) fields.Add("Demand", Shown(shard.demand().message()));
  if (shard.has_traffic()) fields.Add("Requests", TrafficText(shard.traffic()));
  const std::string keys = KeysText(shard);
  fields.Add("Keys", keys.empty() ? "no range: clients address it by id" : keys);
  return absl::StrCat(fields.Render(), ReplicasOf(shard, around.colour),
                      Events(around, [&](const auto& event) {
                        return event.app() == app && event.shard() == shard.shard();
                      }));
}

}  // namespace shardmanager::cli
