#include "tests/simulation/shown.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {

constexpr Duration kSilence = Seconds(1);

Role RoleOf(const v1::ReplicaStatus& replica) {
  return replica.role() == v1::PRIMARY ? Role::kPrimary : Role::kSecondary;
}

bool HasPrimaries(const v1::AppSpec& spec) {
  return spec.replication().strategy() != v1::SECONDARY_ONLY;
}

// A request is answered by somebody: by the primary, where there is one.
bool IsServed(const v1::AppSpec& spec, const std::map<std::string, Role>& servers) {
  return std::any_of(servers.begin(), servers.end(), [&](const auto& server) {
    return !HasPrimaries(spec) || server.second == Role::kPrimary;
  });
}

const std::map<std::string, Role>& Of(const Admitting& admitting, const std::string& shard) {
  static const std::map<std::string, Role> kNobody;
  const auto found = admitting.find(shard);
  return found == admitting.end() ? kNobody : found->second;
}

}  // namespace

// One that was silent for a while may not have run, or could not prove that it leads.
void ShownChecker::ForgetOtherLeaders(const Moment& moment) {
  if (moment.leader != leader_ || moment.now - answered_ > kSilence) {
    of_shards_.clear();
    of_app_.clear();
    of_status_.clear();
    unserved_.clear();
  }
  leader_ = moment.leader;
  answered_ = moment.now;
}

// `found`: what is so now. Returns the first that has been so for too long.
std::string ShownChecker::Keep(const Moment& moment, Claims& claims,
                               const std::set<std::string>& found) {
  std::erase_if(claims, [&](const auto& claim) { return !found.contains(claim.first); });
  std::string longest;
  for (const std::string& what : found) {
    const TimePoint since = claims.emplace(what, moment.now).first->second;
    if (moment.now - since > moment.patience && longest.empty()) {
      longest = absl::StrCat(what, ", for ", (moment.now - since) / Milliseconds(1), " ms");
    }
  }
  return longest;
}

std::string ShownChecker::LookAtShards(const Moment& moment, const v1::GetShardsResponse& shown) {
  ForgetOtherLeaders(moment);
  const uint32_t wanted = std::max(1U, moment.spec.replication().replicas());
  std::set<std::string> found;
  for (const v1::ShardStatus& shard : shown.shards()) {
    const auto& servers = Of(moment.admitting, shard.shard());
    for (const v1::ReplicaStatus& replica : shard.replicas()) {
      const auto server = servers.find(replica.server());
      const bool serves = server != servers.end() && server->second == RoleOf(replica);
      if (replica.state() != "serving" || serves) continue;
      found.insert(absl::StrCat(shard.shard(), " is shown as served by ", replica.server(), " as ",
                                v1::Role_Name(replica.role()), ", which would refuse"));
    }
    if (shard.state() != "unserved" && !IsServed(moment.spec, servers)) {
      found.insert(absl::StrCat(shard.shard(), " is shown as \"", shard.state(),
                                "\", and nobody would serve it"));
    }
    if (shard.state() == "serving" && servers.size() < wanted) {
      found.insert(absl::StrCat(shard.shard(), " is shown as \"serving\", and fewer than ", wanted,
                                " servers would serve it"));
    }
  }
  return Keep(moment, of_shards_, found);
}

size_t ShownChecker::UnservedForLong(const Moment& moment) {
  std::set<std::string> found;
  for (const v1::Shard& shard : moment.spec.key_space().shards()) {
    if (!IsServed(moment.spec, Of(moment.admitting, shard.id()))) found.insert(shard.id());
  }
  Keep(moment, unserved_, found);
  return static_cast<size_t>(std::count_if(
      unserved_.begin(), unserved_.end(),
      [&](const auto& shard) { return moment.now - shard.second > moment.patience; }));
}

std::string ShownChecker::LookAtApp(const Moment& moment, const v1::AppStatus& shown) {
  ForgetOtherLeaders(moment);
  const size_t unserved = UnservedForLong(moment);
  std::set<std::string> found;
  // Of no shards speaks a leader that still reads its records, and says so.
  if (shown.shards() > 0 && shown.shards_served() + unserved > shown.shards()) {
    found.insert("more shards of the app are shown as served than somebody would serve");
  }
  if (unserved > 0 && shown.conditions().empty()) {
    found.insert("the app is shown without a condition, and nobody would serve some of its shards");
  }
  return Keep(moment, of_app_, found);
}

std::string ShownChecker::LookAtStatus(const Moment& moment, const v1::GetStatusResponse& shown) {
  ForgetOtherLeaders(moment);
  const size_t unserved = UnservedForLong(moment);
  const bool named = std::any_of(
      shown.problems().begin(), shown.problems().end(), [&](const v1::Problem& problem) {
        const bool of_app = problem.app().empty() || problem.app() == moment.spec.name();
        return of_app && problem.severity() == v1::Problem::CRITICAL;
      });
  std::set<std::string> found;
  if (unserved > 0 && !named) {
    found.insert("the status names no critical problem, and nobody would serve some shards");
  }
  return Keep(moment, of_status_, found);
}

}  // namespace shardmanager::simulation
