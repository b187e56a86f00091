#include "tests/simulation/restart_checker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"

namespace shardmanager::simulation {
namespace {

// What the leader may take to hear of a failure, and to tell a manager what it decided before.
constexpr Duration kCalmLag = Milliseconds(1'500);
constexpr Duration kListedAnew = Seconds(10);
constexpr Duration kSlowStore = Seconds(15);
// For so long what has begun is stored, whatever its manager says.
constexpr Duration kKept = Seconds(55);

const Paths kCellPaths(kCell);
const AppName kRestartedApp(kApp);

// Do primaries leave before an operation? Of this length; the first rule that fits counts.
bool PrimariesLeave(const v1::AppSpec& spec, const v1::ContainerOperation& operation) {
  for (const v1::DrainRule& rule : spec.drain().rules()) {
    const auto& kinds = rule.kinds();
    const bool kind =
        kinds.empty() || std::find(kinds.begin(), kinds.end(), operation.kind()) != kinds.end();
    if (!kind || (rule.up_to_ms() > 0 && operation.expected_ms() > rule.up_to_ms())) continue;
    if (rule.has_primaries()) return rule.primaries();
    break;
  }
  return !spec.drain().has_primaries() || spec.drain().primaries();
}

// Does the spec say that secondaries stay on a server that is restarted?
bool SecondariesStay(const v1::AppSpec& spec) {
  const auto& rules = spec.drain().rules();
  return std::any_of(rules.begin(), rules.end(), [](const auto& rule) {
    return rule.has_secondaries() && !rule.secondaries();
  });
}

}  // namespace

v1::StoredOperations OperationsStored(const Cluster& cluster) {
  v1::StoredOperations stored;
  const auto node = cluster.store.tree().Get(kCellPaths.operations(kRestartedApp));
  const bool read = node.ok() && Open(node->data, &stored).ok();
  return read ? stored : v1::StoredOperations();
}

size_t MostAway(const v1::AppSpec& spec) {
  const size_t wanted = WantedReplicas(spec);
  const bool stays = spec.replication().strategy() == v1::SECONDARY_ONLY && SecondariesStay(spec);
  if (wanted == 1) return stays ? 1 : 0;  // else it moves
  const size_t most = std::max(1U, spec.availability().max_unavailable_replicas());
  return std::min(most, spec.replication().quorum() ? (wanted - 1) / 2 : wanted - 1);
}

void RestartChecker::ForgetCell() {
  told_.clear();
  committed_.clear();
  served_at_.clear();
  primary_.clear();
  life_.clear();
}

Duration RestartChecker::Lag() const {
  return calm_ ? kCalmLag : cluster_.session_timeout() + kListedAnew + kSlowStore;
}

void RestartChecker::Look() {
  const TimePoint now = cluster_.schedule.now();
  const auto spec = checkers_.StoredSpec();
  if (!spec) return;
  if (wanted_.first != WantedReplicas(*spec)) wanted_ = {WantedReplicas(*spec), now};
  for (const std::string& name : cluster_.servers()) {
    const uint64_t registered = LifeOf(name);
    if (life_[name].first != registered) life_[name] = {registered, now};
    SimServer* server = cluster_.server(name);
    if (server == nullptr) continue;
    for (const v1::Shard& shard : spec->key_space().shards()) {
      const auto right = server->MayServe(shard.id());
      if (!right) continue;
      served_at_[shard.id()][name] = now;
      auto& primary = primary_[shard.id()];
      if (right->role == Role::kPrimary && primary.first != name) primary = {name, now};
    }
  }
  CheckKept();
}

void RestartChecker::Told(const std::string& leader, const std::string& manager,
                          const v1::ContainerOperation& operation,
                          const v1::OperationAnswer& answer) {
  const bool go = answer.verdict() == v1::OPERATION_GO;
  if (!go && answer.verdict() != v1::OPERATION_APPROVED) return;
  const Key key{manager, operation.id()};
  if (Leads(leader)) CheckStored(key, go ? v1::HELD_BEGUN : v1::HELD_APPROVED);
  const bool counts =
      go && MayStillAct(key) && LifeOf(operation.server()) <= operation.incarnation();
  // (GO is repeated until the manager says that it has finished: in a later life of the server.)
  if (go && told_.insert(key).second) CheckLife(operation);
  if (!counts || committed_.contains(key)) return;
  committed_[key] = {operation.server(), operation.incarnation(), cluster_.schedule.now()};
  if (calm_ || strict_) CheckStop(operation);
}

void RestartChecker::Acts(const std::string& manager, const v1::ContainerOperation& operation) {
  ++acted_;
  if (calm_) CheckStop(operation);
  if (!committed_.contains({manager, operation.id()}) &&
      LifeOf(operation.server()) == operation.incarnation()) {
    checkers_.Violate(absl::StrCat("restart: ", manager, " acts on ", operation.server(),
                                   ", and was not told GO"));
  }
  for (auto& [shard, servers] : served_at_) servers.erase(operation.server());
}

bool RestartChecker::Leads(const std::string& process) const {
  const auto holder = cluster_.store.tree().Get(kCellPaths.leader_holder());
  v1::LeaderRecord leader;
  return holder.ok() && Open(holder->data, &leader).ok() && leader.process() == process;
}

bool RestartChecker::MayStillAct(const Key& key) const {
  return std::any_of(managers_.begin(), managers_.end(), [&](const auto& manager) {
    return manager->name() == key.first && manager->MayStillAct(key.second);
  });
}

// The newest one that is registered.
uint64_t RestartChecker::LifeOf(const std::string& server) const {
  const auto node = cluster_.store.tree().Get(
      kCellPaths.server(kRestartedApp, ServerName(server), cluster_.buckets()));
  return node.ok() ? static_cast<uint64_t>(node->stat.version) : 0;
}

bool RestartChecker::IsLive(const std::string& server, uint64_t life) const {
  const std::string node = cluster_.store.LiveNode(kRestartedApp, ServerName(server),
                                                   Incarnation(life), cluster_.buckets());
  return cluster_.store.tree().Get(node).ok();
}

std::optional<v1::StoredOperation> RestartChecker::Stored(const Key& key) const {
  const v1::StoredOperations stored = OperationsStored(cluster_);
  for (const v1::StoredOperation& operation : stored.operations()) {
    if (operation.manager() == key.first && operation.id() == key.second) return operation;
  }
  return std::nullopt;
}

void RestartChecker::CheckStored(const Key& key, v1::HeldStage least) {
  const auto stored = Stored(key);
  if (stored && stored->stage() >= least) return;
  checkers_.Violate(absl::StrCat("restart: ", key.first, " is told that ", key.second,
                                 least == v1::HELD_BEGUN ? " may begin" : " is approved",
                                 ", and that is not stored"));
}

// GO survives every takeover.
void RestartChecker::CheckKept() {
  const TimePoint now = cluster_.schedule.now();
  std::erase_if(committed_, [&](const auto& entry) {
    return LifeOf(entry.second.server) > entry.second.life || !MayStillAct(entry.first);
  });
  for (const auto& [key, committed] : committed_) {
    if (now - committed.since < kKept) CheckStored(key, v1::HELD_BEGUN);
  }
}

// A server that is down is left out: there is no process that the manager could stop.
void RestartChecker::CheckLife(const v1::ContainerOperation& operation) {
  const auto life = life_.find(operation.server());
  if (life == life_.end() || life->second.first <= operation.incarnation()) return;
  const Duration since = cluster_.schedule.now() - life->second.second;
  if (since <= Lag() || !IsLive(operation.server(), life->second.first)) return;
  checkers_.Violate(absl::StrCat("restart: ", operation.server(), " is told to stop in life ",
                                 operation.incarnation(), ", and is in life ", life->second.first,
                                 " for ", since / Milliseconds(1), " ms"));
}

void RestartChecker::CheckStop(const v1::ContainerOperation& operation) {
  const auto spec = checkers_.StoredSpec();
  SimServer* server = cluster_.server(operation.server());
  if (!spec || server == nullptr || server->incarnation().value() != operation.incarnation())
    return;
  CheckShards(operation, *spec);
}

void RestartChecker::CheckShards(const v1::ContainerOperation& operation, const v1::AppSpec& spec) {
  const TimePoint now = cluster_.schedule.now();
  SimServer* server = cluster_.server(operation.server());
  std::set<std::string> away{operation.server()};
  for (const auto& [key, committed] : committed_) {
    if (LifeOf(committed.server) <= committed.life) away.insert(committed.server);
  }
  const size_t most = MostAway(spec);
  const bool changed = now - wanted_.second <= Lag() || wanted_.first != WantedReplicas(spec);
  for (const v1::Shard& shard : spec.key_space().shards()) {
    const auto right = server->MayServe(shard.id());
    if (!right) continue;
    const auto primary = primary_.find(shard.id());
    const bool known = primary != primary_.end() && primary->second.first == server->name() &&
                       now - primary->second.second > Lag();
    if (right->role == Role::kPrimary && known && PrimariesLeave(spec, operation)) {
      checkers_.Violate(
          absl::StrCat("restart: ", server->name(), " is to stop as the primary of ", shard.id()));
    }
    if (changed || right->role == Role::kPrimary) continue;
    const size_t others = ServedByOthers(shard.id(), away);
    if (others + most >= WantedReplicas(spec)) continue;
    checkers_.Violate(absl::StrCat("restart: ", server->name(), " is to stop, and ", shard.id(),
                                   " is then served by ", others, " servers of ",
                                   WantedReplicas(spec)));
  }
}

// Now, or until just now.
size_t RestartChecker::ServedByOthers(const std::string& shard, const std::set<std::string>& away) {
  size_t others = 0;
  for (const std::string& name : cluster_.servers()) {
    if (away.contains(name)) continue;
    SimServer* server = cluster_.server(name);
    const auto& seen = served_at_[shard];
    const auto at = seen.find(name);
    const bool lately = at != seen.end() && cluster_.schedule.now() - at->second <= Lag();
    others += lately || (server != nullptr && server->MayServe(shard));
  }
  return others;
}

}  // namespace shardmanager::simulation
