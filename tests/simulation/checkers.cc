#include "tests/simulation/checkers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/simulation/checks/load_check.h"

namespace shardmanager::simulation {
namespace {

constexpr uint32_t kFirstInterval = 2'000;

const Paths kPaths(kCell);
const AppName kAppName(kApp);

std::string At(TimePoint when) {
  return absl::StrCat(when.time_since_epoch().count() / 1'000, " ms");
}

}  // namespace

uint32_t RevisionOf(const v1::AppSpec& spec) {
  return spec.moves().balance_interval_ms() - kFirstInterval;
}
void SetRevision(v1::AppSpec& spec, uint32_t revision) {
  spec.mutable_moves()->set_balance_interval_ms(kFirstInterval + revision);
}
size_t WantedReplicas(const v1::AppSpec& spec) {
  return std::max(1U, spec.replication().replicas());
}
size_t MostReplicas(const v1::AppSpec& spec) {
  return std::max<size_t>(WantedReplicas(spec), spec.scaling().max_replicas());
}

void Checkers::Violate(const std::string& what) {
  if (violation_.empty()) {
    violation_ = absl::StrCat("at ", At(cluster_->schedule.now()), ": ", what);
  }
}

void Checkers::ForgetCell() {
  newest_.clear();
  written_ = {};
  drains_.clear();
  failures_.clear();
  added_.clear();
  shown_ = ShownChecker();
  cut_off_ = CutOffChecker();
  acknowledged_ = 0;
  elected_ = {};
  spec_version_ = -1;
}

// ---- A ----

void Checkers::Admitted(const SimServer& server, const std::string& shard, Role role,
                        ShardEpoch epoch) {
  if (role != Role::kPrimary) return;
  const bool is_member = IsMember(server);
  if (cluster_->keeps_serving && cut_off_.IsServedOn(server, shard, epoch, is_member)) return;
  if (!is_member) {
    Violate(absl::StrCat("A: ", server.endpoint(), " admits a primary request of ", shard,
                         " after the end of its session"));
  }
  Newest& newest = newest_[shard];
  if (epoch > newest.epoch) {
    CheckOverlap(server, shard, epoch);
    if (cluster_->replicates) CheckWrites(server, shard);
    newest = {epoch, server.endpoint(), cluster_->schedule.now()};
    digest_.Add(epoch.value() ^ static_cast<uint64_t>(newest.at.time_since_epoch().count()));
  } else if (epoch < newest.epoch) {
    Violate(absl::StrCat("A: ", server.endpoint(), " admits a primary request of ", shard,
                         " with epoch ", epoch.value(), ", after ", newest.endpoint,
                         " did with epoch ", newest.epoch.value(), " at ", At(newest.at)));
  } else if (server.endpoint() != newest.endpoint) {
    // A server that restarts goes on with the grant that it had.
    const bool same_server = server.endpoint().substr(0, server.endpoint().find(':')) ==
                             newest.endpoint.substr(0, newest.endpoint.find(':'));
    if (same_server) {
      newest.endpoint = server.endpoint();
      if (cluster_->replicates) CheckWrites(server, shard);
    } else {
      Violate(absl::StrCat("A: ", server.endpoint(), " and ", newest.endpoint, " both admit ",
                           shard, " with epoch ", epoch.value()));
    }
  }
}

bool Checkers::IsMember(const SimServer& server) const {
  LiveNode& node = live_nodes_[server.name()];
  if (node.path.empty() || node.life != server.incarnation()) {
    node = {server.incarnation(),
            cluster_->store.LiveNode(kAppName, ServerName(server.name()), server.incarnation(),
                                     cluster_->buckets())};
  }
  return cluster_->store.tree().Get(node.path).ok();
}

void Checkers::CheckOverlap(const SimServer& server, const std::string& shard, ShardEpoch epoch) {
  for (const std::string& name : cluster_->servers()) {
    const SimServer* other = cluster_->server(name);
    if (other == nullptr || !other->WorksBelow(shard, epoch) || !IsMember(*other)) continue;
    if (cut_off_.HasFormerRight(*other, shard)) continue;
    Violate(absl::StrCat("A: ", server.endpoint(), " admits ", shard, " with epoch ", epoch.value(),
                         " while ", other->endpoint(), ", still a member, works on requests of ",
                         "an older right"));
  }
}

void Checkers::LookAtSessions() {
  const int64_t newest = cluster_->store.tree().last_zxid();
  if (std::exchange(last_write_, newest) == newest) return;
  if (promised_ > 0) NoteConcerned();
  for (const std::string& name : cluster_->servers()) {
    SimServer* server = cluster_->server(name);
    if (server == nullptr || !cluster_->Running(name) || IsMember(*server)) continue;
    for (const std::string& shard : shards_) server->MayServe(shard);  // tells Admitted()
  }
}

v1::AssignmentRecord Checkers::AssignmentOf(const std::string& server) const {
  const auto node = cluster_->store.tree().Get(
      kPaths.assignment(kAppName, ServerName(server), cluster_->buckets()));
  v1::AssignmentRecord record;
  if (!node.ok() || !Open(node->data, &record).ok()) record.Clear();
  return record;
}

// Is the server written down as in step, in the life in which it came to be that?
bool Checkers::IsInStep(const SimServer& server, const std::string& shard) const {
  const ShardCopy* copy = server.copy(shard);
  if (copy == nullptr || copy->in_step != server.incarnation() || !IsMember(server)) return false;
  const v1::AssignmentRecord record = AssignmentOf(server.name());
  const auto& replicas = record.replicas();
  return std::any_of(replicas.begin(), replicas.end(), [&](const v1::AssignedReplica& replica) {
    return replica.shard() == shard && replica.phase() == v1::GRANTED &&
           replica.member_life() == server.incarnation().value();
  });
}

// "kv-2:1 has it all", if that is so of a member that is not this one.
std::string Checkers::InStep(const SimServer& server, const std::string& shard,
                             const std::set<uint64_t>& written) const {
  for (const std::string& name : cluster_->servers()) {
    const SimServer* other = cluster_->server(name);
    if (other == nullptr || other == &server || !IsInStep(*other, shard)) continue;
    const auto& has = other->copy(shard)->writes;
    if (std::includes(has.begin(), has.end(), written.begin(), written.end())) {
      return absl::StrCat(other->endpoint(), " has it all");
    }
  }
  return "";
}

void Checkers::CheckWrites(const SimServer& server, const std::string& shard) {
  LearnShards();
  std::set<uint64_t>& written = written_.To(shard);
  const std::set<uint64_t>& has = server.copy(shard)->writes;
  if (std::includes(has.begin(), has.end(), written.begin(), written.end())) return;
  const std::string better = cluster_->quorum    ? "most of its members had it"
                             : cluster_->durable ? "nobody has lost its disk, or was given up"
                                                 : InStep(server, shard, written);
  if (!better.empty()) {
    Violate(absl::StrCat("an acknowledged write is lost: ", server.endpoint(),
                         " serves as the primary of ", shard, " and lacks some; ", better));
  }
  std::set<uint64_t> left;
  std::set_intersection(has.begin(), has.end(), written.begin(), written.end(),
                        std::inserter(left, left.begin()));
  written = std::move(left);
}

// ---- one leader's word ----

bool Election::See(const MemoryTree& store, TimePoint now) {
  const auto newest = store.Get(kPaths.leader_epoch());
  if (!newest.ok()) return false;
  if (std::exchange(epoch, newest->stat.version) != newest->stat.version) at = now;
  return true;
}

void Checkers::AskLeaders() {
  if (!elected_.See(cluster_->store.tree(), cluster_->schedule.now())) return;
  v1::GetShardsRequest of_shards;
  v1::GetAppsRequest of_app;
  of_shards.set_app(kApp);
  of_app.set_app(kApp);
  asks_of_app_ = !asks_of_app_;
  for (const std::string& host : cluster_->controls()) {
    SimControl* control = cluster_->control(host);
    if (control == nullptr || !cluster_->Running(host)) continue;
    const auto answered = [this, host](const absl::Status& status) {
      if (status.ok() || absl::IsNotFound(status)) AnsweredAsLeader(host);
      return status.ok();
    };
    if (asks_of_app_) {
      control->controller().operations().GetApps(of_app, [this, answered](const auto& apps) {
        if (!answered(apps.status())) return;
        CheckShown([&](const auto& moment) { return shown_.LookAtApp(moment, apps->apps(0)); });
      });
      const auto of_status = [this](const auto& status) {
        if (!status.ok() || !status->leading() || status->cut_off_ms() > 0) return;
        CheckShown([&](const auto& moment) { return shown_.LookAtStatus(moment, *status); });
      };
      control->controller().operations().GetStatus(of_status, /*with_problems=*/true);
    } else {
      control->controller().operations().GetShards(of_shards, [this, answered](const auto& shards) {
        if (!answered(shards.status())) return;
        CheckShown([&](const auto& moment) { return shown_.LookAtShards(moment, *shards); });
      });
    }
  }
}

// At the instant of the answer. Of a server that is lost a leader may hear only when its session
// has ended, or, if the store's word to it was lost, when it lists all servers again. (No session
// ends while the store is away, and each has its whole time-out when the store is back.)
void Checkers::CheckShown(const std::function<std::string(const ShownChecker::Moment&)>& look) {
  const auto spec = StoredSpec();
  if (!spec) return;
  constexpr Duration kListedAnew = Seconds(10);
  constexpr Duration kUnderWay = Seconds(2);
  const Duration patience =
      promised_ > 0 && !killed_ ? kUnderWay : cluster_->session_timeout() + kListedAnew + kUnderWay;
  const uint32_t changes = cluster_->store.changes();
  if (std::exchange(store_changes_, changes) != changes) shown_ = ShownChecker();
  Admitting admitting;
  ForEachServing([&](const std::string& shard, const std::string& server, SimServer::Right right) {
    admitting[shard][server] = right.role;
  });
  for (const std::string& name : cluster_->servers()) {
    const SimServer* server = cluster_->server(name);
    if (server == nullptr) continue;
    for (const auto& [shard, role] : server->served_until_stop()) admitting[shard][name] = role;
  }
  const std::string lie =
      look({cluster_->schedule.now(), elected_.epoch, patience, *spec, admitting});
  if (!lie.empty()) Violate(absl::StrCat("shown: ", lie));
}

void Checkers::AnsweredAsLeader(const std::string& host) {
  elected_.See(cluster_->store.tree(), cluster_->schedule.now());
  const auto holder = cluster_->store.tree().Get(kPaths.leader_holder());
  v1::LeaderRecord leader;
  if (!holder.ok() || !Open(holder->data, &leader).ok() || leader.process() == host) return;
  const Duration since = cluster_->schedule.now() - elected_.at;
  if (since <= cluster_->session_timeout()) return;
  Violate(absl::StrCat("two leaders: ", host, " answers an operator as the leader, ",
                       since / Milliseconds(1), " ms after ", leader.process(), " was elected"));
}

void Checkers::Called(uint64_t call, bool idempotent) {
  if (!idempotent) once_[call] = 0;
}

void Checkers::Processed(uint64_t request) {
  const auto call = once_.find(request);
  if (call != once_.end() && ++call->second > 1) {
    Violate(absl::StrCat("call ", request, " is not idempotent and was processed twice"));
  }
}

void Checkers::ObeyedDeposed(const SimServer& server, LeaderEpoch leader, LeaderEpoch deposed) {
  Violate(absl::StrCat("fence: ", server.endpoint(), " obeys leader epoch ", deposed.value(),
                       ", after it obeyed epoch ", leader.value()));
}

void Checkers::Added(const SimServer& server) {
  added_.push_back({server.name(), cluster_->schedule.now()});
}

void Checkers::AddFailed(const SimServer& server, const server::Grant& grant) {
  constexpr size_t kEnough = 3;             // different shards
  constexpr Duration kGrace = Seconds(10);  // until it is found out
  constexpr Duration kLeastPause = Seconds(25);
  // Within that pause, new ones. One would do, but for a server that says yes to a shard which it
  // has had all along: it is let go, given as many as may move at once, and found out anew.
  constexpr size_t kMost = 5 + kEnough;
  const TimePoint now = cluster_->schedule.now();
  const auto leader = cluster_->store.tree().Get(kPaths.leader_epoch());
  Failures& failures = failures_[server.endpoint()];
  // A new leader has to find out for itself.
  if (leader.ok() && std::exchange(failures.leader, leader->stat.version) != leader->stat.version) {
    failures.since = now;
    failures.trials.clear();
  }
  const TimePoint from = std::max(failures.since, calm_since_);
  size_t before = 0;
  for (const auto& [shard, first] : failures.first) {
    before += first.at >= from && first.at < now - kGrace;
  }
  const bool others_can = std::any_of(added_.begin(), added_.end(), [&](const auto& success) {
    return success.at >= from && success.at < now - kGrace && success.server != server.name();
  });
  const bool found_out = before >= kEnough && others_can;
  if (!found_out) failures.granted = NewestGrant(server);
  Failures::First& first = failures.first[grant.shard.value()];
  const bool again = std::exchange(first.epoch, grant.epoch) == grant.epoch;
  if (!again) first.at = now;
  // What was granted before it was found out may come late: it loads one after the other.
  if (!found_out || again || grant.epoch <= failures.granted) return;
  std::erase_if(failures.trials, [&](TimePoint trial) { return trial <= now - kLeastPause; });
  failures.trials.push_back(now);
  if (failures.trials.size() > kMost) {
    Violate(absl::StrCat("storm: ", grant.shard.value(), " is added at ", server.endpoint(),
                         ", where ", before, " shards failed before, and ", failures.trials.size(),
                         " just now"));
  }
}

ShardEpoch Checkers::NewestGrant(const SimServer& server) const {
  ShardEpoch newest;
  const v1::AssignmentRecord record = AssignmentOf(server.name());
  for (const v1::AssignedReplica& replica : record.replicas()) {
    newest = std::max(newest, ShardEpoch(replica.epoch()));
  }
  return newest;
}

void Checkers::ForEachServing(const Found& found) {
  LearnShards();
  if (cluster_->keeps_serving) {
    const std::string stopped = cut_off_.Look(*cluster_);
    if (!stopped.empty()) Violate(absl::StrCat("keeps serving: ", stopped));
  }
  for (const std::string& name : cluster_->servers()) {
    SimServer* server = cluster_->server(name);
    if (server == nullptr) continue;
    for (const std::string& shard : shards_) {
      if (const auto right = server->MayServe(shard)) found(shard, name, *right);
    }
  }
}

// From the stored spec: what servers say that they hold is not asked.
void Checkers::LearnShards() {
  const auto node = cluster_->store.tree().Get(kPaths.spec(kAppName));
  if (!node.ok() || std::exchange(spec_version_, node->stat.version) == node->stat.version) return;
  v1::StoredSpec stored;
  if (!Open(node->data, &stored).ok() || stored.deleting()) return;
  for (const v1::Shard& shard : stored.spec().key_space().shards()) shards_.insert(shard.id());
  for (const v1::Reshape& reshape : stored.reshapes()) {
    for (const v1::Shard& to : reshape.to()) {
      for (const v1::Shard& from : reshape.from()) written_.MadeOf(to.id(), from.id());
    }
  }
}

void Checkers::Probe() {
  ForEachServing([](const std::string&, const std::string&, SimServer::Right) {});
}

Checkers::Serving Checkers::Sweep() {
  Serving serving;
  ForEachServing([&](const std::string& shard, const std::string& server, SimServer::Right) {
    serving[shard].insert(server);
  });
  return serving;
}

// Those that the spec wants, or as many as there are healthy servers that are not drained.
size_t Checkers::LeastReplicas(const v1::AppSpec& spec) const {
  std::set<std::string> free = cluster_->healthy();
  for (const std::string& drained : StoredDrains()) free.erase(drained);
  return std::min(WantedReplicas(spec), free.size());
}

// ---- B ----

void Checkers::ExpectFullService(const v1::AppSpec& spec, const Serving& serving,
                                 std::optional<size_t> away) {
  constexpr Duration kMost = Seconds(5);  // in all, of a planned event
  const TimePoint now = cluster_->schedule.now();
  const Duration since_then = now - std::exchange(swept_, now);
  // A primary that moves, or turns, holds its requests for a moment; another replica does not.
  const size_t turning = spec.replication().strategy() == v1::SECONDARY_ONLY ? 0 : 1;
  const size_t full = std::min(promised_, LeastReplicas(spec));
  // The spec may say that a lone secondary stays where it is, and is away with its server.
  const size_t kept = std::min<size_t>(full, WantedReplicas(spec) > 1 ? 1 : 0);
  const size_t least = full - std::min(away.value_or(0), full - kept);
  // Each restart is an event of its own, with a move, and adds may be slow then.
  const Duration of_restart = kMost + cluster_->habits.slowest_add;
  const Duration most =
      away ? of_restart * static_cast<int64_t>(cluster_->servers().size()) : kMost;
  for (const v1::Shard& shard : spec.key_space().shards()) {
    const auto found = serving.find(shard.id());
    const size_t servers = found == serving.end() ? 0 : found->second.size();
    if (servers >= least) continue;
    if (servers + turning < least || (away && full > 1 && servers == 0)) {
      Violate(absl::StrCat("B: only planned things happen, and ", shard.id(), " is served by ",
                           servers, " servers of ", WantedReplicas(spec)));
    } else if (!IsConcerned(shard.id())) {
      CheckMissing(shard.id(), since_then, most);
    }
  }
}

// A primary holds its requests for as long as those in flight may take, and a lone one once more
// while it is dropped and added. One that cannot be moved is not closed again and again.
void Checkers::CheckMissing(const std::string& shard, Duration more, Duration most) {
  Duration& missing = missing_[shard];
  missing += more;
  if (missing <= most) return;
  Violate(absl::StrCat("B: only planned things happen, and a replica of ", shard,
                       " was missing for ", missing / Milliseconds(1), " ms in all"));
}

// What cannot be added, or forwarded, is closed until it is back where it was. After each write: a
// whole move may take less time than passes between two sweeps.
void Checkers::NoteConcerned() {
  if (cluster_->lasting.gray.empty() && cluster_->habits.sick.empty()) return;
  for (const std::string& name : cluster_->servers()) {
    const v1::AssignmentRecord record = AssignmentOf(name);
    for (const v1::AssignedReplica& replica : record.replicas()) {
      held_by_[replica.shard()].insert(name);
    }
  }
}

bool Checkers::IsConcerned(const std::string& shard) const {
  const auto held = held_by_.find(shard);
  if (held == held_by_.end()) return false;
  const std::set<std::string>& by = held->second;
  const auto& sick = cluster_->habits.sick;
  const auto& gray = cluster_->lasting.gray;
  return std::any_of(sick.begin(), sick.end(), [&](const auto& one) { return by.contains(one); }) ||
         std::any_of(gray.begin(), gray.end(), [&](const auto& link) {
           return by.contains(link.first) && by.contains(link.second);
         });
}

// ---- C ----

std::optional<v1::AppSpec> Checkers::StoredSpec() const {
  const auto node = cluster_->store.tree().Get(kPaths.spec(kAppName));
  v1::StoredSpec stored;
  if (!node.ok() || !Open(node->data, &stored).ok() || stored.deleting()) return std::nullopt;
  return stored.spec();
}

std::set<std::string> Checkers::StoredDrains() const {
  const auto node = cluster_->store.tree().Get(kPaths.spec(kAppName));
  v1::StoredSpec stored;
  std::set<std::string> servers;
  if (!node.ok() || !Open(node->data, &stored).ok()) return servers;
  for (const v1::Drain& drain : stored.drains()) servers.insert(drain.scope().server());
  return servers;
}

std::string Checkers::LostDrain() const {
  const std::set<std::string> stored = StoredDrains();
  for (const auto& [server, drained] : drains_) {
    if (stored.contains(server) != drained) {
      return absl::StrCat(drained ? "the drain of " : "the end of the drain of ", server);
    }
  }
  return "";
}

// ---- D ----

std::string Checkers::NotConverged() {
  const auto spec = StoredSpec();
  if (!spec) return "no spec is stored";
  Serving serving = Sweep();
  std::set<std::string> wanted;
  for (const v1::Shard& shard : spec->key_space().shards()) wanted.insert(shard.id());
  for (const auto& [shard, servers] : serving) {
    if (!wanted.contains(shard)) return absl::StrCat(shard, " is served and not in the spec");
  }
  const std::set<std::string> drained = StoredDrains();
  const size_t least = LeastReplicas(*spec);
  // A replica that cannot come into step holds up the one that it should replace.
  const bool gray = !cluster_->lasting.gray.empty();
  const bool room = least == WantedReplicas(*spec) && !gray;
  const size_t most = MostReplicas(*spec);
  const LoadCheck loads(*cluster_, *spec, drained);
  for (const std::string& shard : wanted) {
    const std::set<std::string>& servers = serving[shard];
    for (const std::string& server : servers) {
      if (room && drained.contains(server)) {
        return absl::StrCat(shard, " is still served by ", server, ", which is to be drained");
      }
    }
    if (servers.size() < least || servers.size() > most) {
      return absl::StrCat(shard, " is served by [", absl::StrJoin(servers, " "), "], wanted are ",
                          WantedReplicas(*spec));
    }
    if (std::string why = loads.Wrong(shard, servers.size()); !why.empty()) return why;
    if (spec->replication().strategy() == v1::PRIMARY_SECONDARY) {
      if (std::string why = OtherPrimaries(shard); !why.empty()) return why;
    }
    for (const auto& client : cluster_->clients()) {
      std::string why = ClientDisagrees(*client, shard, servers);
      if (!why.empty()) return why;
    }
  }
  return "";
}

// Servers that would admit a request to the primary.
std::vector<std::string> Checkers::Primaries(const std::string& shard) {
  std::vector<std::string> primaries;
  for (const std::string& name : cluster_->servers()) {
    SimServer* server = cluster_->server(name);
    if (server == nullptr) continue;
    const auto right = server->MayServe(shard);
    if (right && right->role == Role::kPrimary) primaries.push_back(name);
  }
  return primaries;
}

// Why it is not so that the shard has one primary.
std::string Checkers::OtherPrimaries(const std::string& shard) {
  const std::vector<std::string> primaries = Primaries(shard);
  if (primaries.size() == 1) return "";
  return absl::StrCat("the primaries of ", shard, " are [", absl::StrJoin(primaries, " "), "]");
}

// The primary cannot reach it, and never will.
bool Checkers::CannotBeInStep(const std::string& server, const std::string& shard) {
  const std::vector<std::string> primaries = Primaries(shard);
  return cluster_->replicates && primaries.size() == 1 &&
         cluster_->lasting.IsGray(primaries.front(), server);
}

std::string Checkers::ClientDisagrees(const SimClient& client, const std::string& shard,
                                      const std::set<std::string>& serving) {
  std::set<std::string> known;
  if (client.map() != nullptr) {
    const ShardIndex index = client.map()->layout().FindById(shard);
    if (!index.valid()) return absl::StrCat(client.host(), " does not know ", shard);
    for (const router::MappedReplica& replica : client.map()->replicas(index)) {
      known.insert(client.map()->server(replica.server()).name);
    }
  }
  std::set<std::string> excused = known;
  for (const std::string& server : serving) {
    if (!known.contains(server) && CannotBeInStep(server, shard)) excused.insert(server);
  }
  if (excused == serving) return "";
  return absl::StrCat(client.host(), " thinks that ", shard, " is at [", absl::StrJoin(known, " "),
                      "], it is at [", absl::StrJoin(serving, " "), "]");
}

uint64_t Checkers::AssignmentWrites() const {
  uint64_t writes = 0;
  for (const std::string& name : cluster_->servers()) {
    const auto node = cluster_->store.tree().Get(
        kPaths.assignment(kAppName, ServerName(name), cluster_->buckets()));
    if (node.ok()) writes += 1 + static_cast<uint64_t>(node->stat.version);
  }
  return writes;
}

}  // namespace shardmanager::simulation
