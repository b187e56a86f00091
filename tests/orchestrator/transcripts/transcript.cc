#include "tests/orchestrator/transcripts/transcript.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/state_machine.h"
#include "model/text.h"

namespace shardmanager::orchestrator {
namespace {

using Detail = Transcript::Detail;

std::string Text(ShardEpoch epoch) {
  return absl::StrCat(epoch.value() >> 32, ".", epoch.value() & UINT32_MAX);
}
std::string Text(Role role) { return std::string(ToString(role)); }

std::string Text(const std::vector<MetricAmount>& amounts) {
  std::string text;
  for (const MetricAmount& a : amounts) absl::StrAppend(&text, " ", a.metric, "=", a.amount);
  return text;
}

std::string Text(const StoredReplica& r) {
  std::string text = absl::StrCat(r.shard, " ", std::string(ToString(r.phase)), " ", Text(r.role),
                                  " ", Text(r.epoch));
  if (r.member_life != 0) absl::StrAppend(&text, ", in step in life ", r.member_life);
  return text;
}

std::string Text(const ServerLife& life) {
  std::string text = absl::StrCat(life.name, " life ", life.incarnation.value());
  if (life.unread) return text + ", whose live record cannot be read";
  const FaultDomain& at = life.fault_domain;
  absl::StrAppend(&text, " in ", at.region);
  if (!at.datacenter.empty()) absl::StrAppend(&text, "/", at.datacenter);
  if (!at.rack.empty()) absl::StrAppend(&text, "/", at.rack);
  if (life.capacity != 0) absl::StrAppend(&text, ", for ", life.capacity, " replicas");
  return text + Text(life.metric_capacity);
}

std::string Text(const v1::Drain& drain) {
  return absl::StrCat(" drain {", drain.ShortDebugString(), "}");
}

std::string Text(WriteOutcome outcome) {
  constexpr const char* kNames[] = {"ok", "conflict", "failed", "too large", "deposed"};
  return kNames[static_cast<size_t>(outcome)];
}

std::string Text(CommandOutcome outcome) {
  constexpr const char* kNames[] = {"done",       "loading",     "failed", "stale",
                                    "called off", "unreachable", "deposed"};
  return kNames[static_cast<size_t>(outcome)];
}

// Of a Recovered or a SpecChanged.
template <typename E>
std::string SpecText(const E& event, Detail detail) {
  const v1::AppSpec& spec = event.spec;
  std::string text = absl::StrCat(Counted(spec.key_space().shards_size(), "shard"), ", ",
                                  spec.replication().replicas(), " x ",
                                  v1::ReplicationStrategy_Name(spec.replication().strategy()));
  if (spec.replication().quorum()) text += ", quorum";
  if (event.deleting) text += ", deleting";
  for (const v1::Drain& drain : event.ordered.drains) text += Text(drain);
  if (event.ordered.pause) {
    absl::StrAppend(&text, " pause {", event.ordered.pause->ShortDebugString(), "}");
  }
  for (const v1::Pin& pin : event.ordered.pins) {
    absl::StrAppend(&text, " pin {", pin.ShortDebugString(), "}");
  }
  for (const PlannedMaintenance& maintenance : event.ordered.maintenances) {
    absl::StrAppend(&text, " maintenance {", maintenance.notice.ShortDebugString(), "}");
  }
  if (detail == Detail::kWhole) absl::StrAppend(&text, " {", spec.ShortDebugString(), "}");
  return text;
}

// ---- events ----

struct EventText {
  const Tables& tables;
  const Detail detail;

  std::string operator()(const Recovered& e) const {
    std::string text = "recovered: " + SpecText(e, detail);
    for (const StoredServer& s : e.servers) {
      const std::string life = s.live       ? Text(*s.live)
                               : s.departed ? s.name + ", departed"
                                            : s.name + ", not live";
      absl::StrAppend(&text, "\n", std::string(18, ' '), life, ":");
      if (s.unread) text += " its assignment record cannot be read";
      for (const StoredReplica& r : s.assignment) absl::StrAppend(&text, " ", Text(r), ";");
    }
    return text;
  }
  std::string operator()(const SpecChanged& e) const { return "spec: " + SpecText(e, detail); }
  std::string operator()(const ServerUp& e) const { return "server up: " + Text(e.life); }
  std::string operator()(const ServerDown& e) const {
    return absl::StrCat("server down: ", e.name, " life ", e.incarnation.value(),
                        e.departed ? ", it said good-bye" : "");
  }
  std::string operator()(const WriteDone& e) const {
    const std::string of = e.conflict.valid() ? ", " + tables.name(e.conflict) : "";
    return absl::StrCat("write ", e.batch, ": ", Text(e.outcome), of);
  }
  std::string operator()(const CommandResult& e) const {
    std::string text =
        absl::StrCat(tables.name(e.server), " ", std::string(ToString(e.kind)), " ",
                     tables.name(e.shard), " ", Text(e.epoch), ": ", Text(e.outcome));
    if (!e.error.empty()) absl::StrAppend(&text, " (", e.error, ")");
    if (e.serving_epoch != ShardEpoch()) absl::StrAppend(&text, ", serves ", Text(e.serving_epoch));
    if (e.outcome == CommandOutcome::kLoading) absl::StrAppend(&text, " ", e.progress);
    return text;
  }
  std::string operator()(const ServerReport& e) const {
    std::string text = absl::StrCat("report of ", tables.name(e.server), " life ",
                                    e.incarnation.value(), e.ok ? ":" : ": no answer");
    for (const HeldReplica& h : e.held) {
      absl::StrAppend(&text, " ", h.shard, " ", Text(h.role), " ", Text(h.epoch),
                      h.serving ? "" : " loading");
      if (detail == Detail::kWhole) text += Text(h.load);
      text += ";";
    }
    if (!e.capacity.empty()) absl::StrAppend(&text, " can carry", Text(e.capacity), ";");
    return text;
  }
  std::string operator()(const PlanReady& e) const {
    std::string text = absl::StrCat("plan ", e.id, ":");
    for (const allocator::Move& m : e.plan.moves) {
      absl::StrAppend(&text, " ", tables.name(m.shard), " ",
                      m.from.valid() ? "from " + tables.name(m.from) + " " : "", "to ",
                      tables.name(m.to), " (", std::string(allocator::ToString(m.reason)), ");");
    }
    for (const allocator::Skipped& s : e.plan.skipped) {
      absl::StrAppend(&text, " ", tables.name(s.shard), " nowhere (",
                      std::string(allocator::ToString(s.reason)), ");");
    }
    return text;
  }
  std::string operator()(const LaterLeaderSeen& e) const {
    return "a later leader was seen: " + e.where;
  }
  std::string operator()(const RetryAsked& e) const {
    return "an operator asks to try " + e.shard + " again now";
  }
  std::string operator()(const MoveAsked& e) const {
    return absl::StrCat("an operator asks to move ", e.shard, " from ", e.from, " to ", e.to);
  }
  std::string operator()(const QuarantineLifted& e) const {
    return "an operator lifts the quarantine of " + e.server;
  }
  std::string operator()(const ServerForgotten& e) const {
    return "an operator says that " + e.server + " does not come back";
  }
  std::string operator()(const MapSupplied& e) const {
    return absl::StrCat("the app supplies map ", e.map.life, "/", e.map.sequence);
  }
  std::string operator()(const OrdersChanged& e) const {
    std::string text = "container operations:";
    for (const ServerOrder& order : e.orders) {
      absl::StrAppend(&text, " ", order.server, order.closed ? " closed" : "",
                      order.avoid ? " avoided" : "",
                      order.leaving.primaries ? ", primaries leave" : "",
                      order.leaving.secondaries ? ", secondaries leave" : "",
                      order.away_until == TimePoint::min() ? "" : ", away as planned", ";");
    }
    return text;
  }
};

// ---- actions ----

struct ActionText {
  const Tables& tables;
  const Detail detail;

  std::string operator()(const Persist& a) const {
    std::string text = absl::StrCat("write ", a.batch);
    for (const ServerWrite& w : a.writes) {
      absl::StrAppend(&text, "\n", std::string(18, ' '), tables.name(w.server), ":");
      for (const ReplicaRecord& r : w.replicas) {
        absl::StrAppend(
            &text, " ",
            Text(StoredReplica{tables.name(r.shard), r.role, r.epoch, r.phase, r.member_life}),
            ";");
      }
    }
    for (const RegistrationCheck& c : a.checks) {
      absl::StrAppend(&text, "\n", std::string(18, ' '), "if ", tables.name(c.server),
                      " has not registered since life ", c.version);
    }
    return text;
  }
  std::string operator()(const SendCommands& a) const {
    std::string text = absl::StrCat(std::string(ToString(a.kind)), " ", tables.name(a.server), ":");
    for (const Grant& g : a.grants) {
      absl::StrAppend(&text, " ", tables.name(g.shard), " ", Text(g.role), " ", Text(g.epoch));
      if (g.next_epoch != ShardEpoch()) absl::StrAppend(&text, ", next ", Text(g.next_epoch));
      if (!g.members.empty()) {
        absl::StrAppend(&text, ", members ",
                        absl::StrJoin(g.members, " ", [&](std::string* out, ServerIndex id) {
                          out->append(tables.name(id));
                        }));
        if (detail == Detail::kWhole) absl::StrAppend(&text, " v", g.members_version);
      }
      text += ";";
    }
    if (a.other.valid()) absl::StrAppend(&text, " the other one is ", tables.name(a.other));
    return text;
  }
  std::string operator()(const Collect& a) const {
    return absl::StrCat("what does ", tables.name(a.server), " life ", a.incarnation.value(),
                        " hold?");
  }
  std::string operator()(const ComputePlan& a) const {
    const bool urgent = a.options.mode == allocator::Mode::kEmergency;
    std::string text = absl::StrCat("plan ", a.id, urgent ? ": a place for" : ": balance of", " ",
                                    Counted(a.snapshot.shards.size(), "shard"), " on ",
                                    Counted(a.snapshot.servers.size(), "server"));
    if (detail == Detail::kWhole) AddSnapshot(a, text);
    return text;
  }
  std::string operator()(const Publish& a) const {
    if (a.whole) return "publish the whole map";
    std::string text = "publish";
    for (ShardIndex id : a.shards) absl::StrAppend(&text, " ", tables.name(id));
    return text;
  }
  std::string operator()(const Note& a) const {
    std::string text = absl::StrCat("note ", std::string(NameOf(a.kind)));
    if (a.shard.valid()) absl::StrAppend(&text, " ", tables.name(a.shard));
    if (a.server.valid()) absl::StrAppend(&text, " ", tables.name(a.server));
    if (!a.detail.empty()) absl::StrAppend(&text, ": ", a.detail);
    return text;
  }
  std::string operator()(const Emptied&) const { return "the app's records may go"; }
  std::string operator()(const ShowTraffic& a) const {
    return absl::StrCat("show ", a.figures.requests_per_s, " requests/s");
  }
  std::string operator()(const StepDown&) const { return "step down"; }

  static void AddSnapshot(const ComputePlan& a, std::string& text) {
    const allocator::Options& o = a.options;
    absl::StrAppend(&text, " seed ", o.seed, " steps ", o.step_budget, " moves ", o.moves.total,
                    "/", o.moves.per_server, " ", o.drain_moves.total, "/",
                    o.drain_moves.per_server, " spread ", static_cast<int>(a.snapshot.spread));
    for (const allocator::ServerInfo& s : a.snapshot.servers) {
      absl::StrAppend(&text, "\n  server ", s.server.index(), " ", s.region, " ", s.datacenter, " ",
                      s.rack, " ", s.capacity, " ", s.other_replicas, " ");
      absl::StrAppend(&text, s.accepts, s.draining, s.ordered, " ", s.moves, " ", s.drain_moves);
    }
    for (const allocator::ShardInfo& s : a.snapshot.shards) {
      absl::StrAppend(&text, "\n  shard ", s.shard.index(), " ", s.wanted_replicas, " ",
                      Text(s.new_role), " ", s.preferred_region, ":");
      for (const allocator::ReplicaInfo& r : s.replicas) {
        absl::StrAppend(&text, " ", r.server.index(), Text(r.role), r.movable);
      }
      for (ServerIndex id : s.avoided) absl::StrAppend(&text, " not ", id.index());
    }
    for (const auto& m : a.snapshot.metrics) {
      absl::StrAppend(&text, "\n  metric ", m.name, " ", m.threshold, " ", m.tolerance);
    }
    for (const auto* table : {&a.snapshot.capacity, &a.snapshot.other_load}) {
      absl::StrAppend(&text, "\n  ", absl::StrJoin(*table, " "));
    }
    absl::StrAppend(&text, "\n  ", absl::StrJoin(a.snapshot.load, " "));
  }
};

}  // namespace

void Transcript::Hears(TimePoint now, const Event& event, const Tables& tables) {
  Add(now, "<-", std::visit(EventText{tables, detail_}, event));
}

void Transcript::Asks(TimePoint now, const Action& action, const Tables& tables) {
  Add(now, "->", std::visit(ActionText{tables, detail_}, action));
}

void Transcript::Remark(const std::string& text) {
  constexpr size_t kColumns = 90;
  if (!text_.empty()) text_ += "\n";
  text_ += "#";
  size_t column = 1;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const bool fits = column + 1 + word.size() <= kColumns;
    absl::StrAppend(&text_, fits ? " " : "\n# ", word);
    column = (fits ? column : 1) + 1 + word.size();
  }
  text_ += "\n";
}

void Transcript::Add(TimePoint now, const char* mark, const std::string& line) {
  const double seconds = InSeconds(now.time_since_epoch());
  absl::StrAppendFormat(&text_, "%10.3f  %s  %s\n", seconds, mark, line);
}

}  // namespace shardmanager::orchestrator
