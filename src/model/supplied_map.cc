#include "model/supplied_map.h"

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "model/spec/spec_names.h"
#include "model/spec/spec_problems.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr size_t kMostServersInMap = 100'000;
constexpr size_t kMostReplicasInMap = 5'000'000;
constexpr size_t kMostServerNameBytes = 127;
constexpr size_t kMostProcessBytes = 200;
constexpr uint64_t kMostSuppliedLife = INT32_MAX;

// Of the server, or of one of its replicas. (Made for problems only: maps are large.)
std::string PathInMap(int server, int replica, std::string_view field) {
  const std::string of_replica = replica < 0 ? "" : absl::StrCat(".replicas[", replica, "]");
  return absl::StrCat("servers[", server, "]", of_replica, ".", std::string(field));
}

class MapParser {
 public:
  explicit MapParser(const v1::SupplyMapRequest& request) : request_(request) {}

  absl::StatusOr<SuppliedMap> Parse() {
    if (request_.supplier_life() == 0) problems_.Add("supplier_life", "0", "a number above 0");
    if (request_.sequence() == 0) problems_.Add("sequence", "0", "a number above 0");
    SuppliedMap map{.life = request_.supplier_life(),
                    .sequence = request_.sequence(),
                    .unchanged = request_.unchanged()};
    if (HasFittingSize()) {
      map.servers.reserve(static_cast<size_t>(request_.servers_size()));
      while (server_ < request_.servers_size() && !problems_.full()) {
        map.servers.push_back(ParseServer(request_.servers(server_)));
        ++server_;
      }
    }
    if (absl::Status status = ToStatus(problems_.Take()); !status.ok()) return status;
    return map;
  }

 private:
  bool HasFittingSize() {
    size_t replicas = 0;
    for (const v1::SuppliedServer& server : request_.servers()) {
      replicas += static_cast<size_t>(server.replicas_size());
    }
    const auto servers = static_cast<size_t>(request_.servers_size());
    const auto refuse = [&](const std::string& found, const std::string& allowed) {
      problems_.Add("servers", found, allowed);
      return false;
    };
    if (request_.unchanged() && servers > 0) {
      return refuse(Counted(servers, "server"), "nothing, if the map is unchanged");
    }
    if (servers > kMostServersInMap) {
      return refuse(Counted(servers, "server"), absl::StrCat("at most ", kMostServersInMap));
    }
    if (replicas > kMostReplicasInMap) {
      return refuse(Counted(replicas, "replica"), absl::StrCat("at most ", kMostReplicasInMap));
    }
    return true;
  }

  SuppliedServer ParseServer(const v1::SuppliedServer& in) {
    replica_ = -1;
    CheckName("server", in.server(), kMostServerNameBytes);
    if (!servers_.insert(in.server()).second) Twice("server", in.server(), "each server once");
    if (in.incarnation() == 0 || in.incarnation() > kMostSuppliedLife) {
      Add("incarnation", absl::StrCat(in.incarnation()), absl::StrCat("1 to ", kMostSuppliedLife));
    }
    if (in.process().size() > kMostProcessBytes) {
      Add("process", absl::StrCat(in.process().size(), " bytes"),
          absl::StrCat("at most ", kMostProcessBytes));
    }
    const v1::FaultDomain& at = in.fault_domain();
    CheckName("fault_domain.region", at.region(), kMostRegionBytes);
    if (!at.datacenter().empty()) {
      CheckName("fault_domain.datacenter", at.datacenter(), kMostRegionBytes);
    }
    if (!at.rack().empty()) CheckName("fault_domain.rack", at.rack(), kMostRegionBytes);
    return {.name = in.server(),
            .incarnation = Incarnation(in.incarnation()),
            .down = in.down(),
            .fault_domain = {at.region(), at.datacenter(), at.rack()},
            .process = in.process(),
            .replicas = ParseReplicas(in)};
  }

  std::vector<SuppliedReplica> ParseReplicas(const v1::SuppliedServer& in) {
    std::vector<SuppliedReplica> replicas;
    replicas.reserve(static_cast<size_t>(in.replicas_size()));
    shards_.clear();
    for (replica_ = 0; replica_ < in.replicas_size() && !problems_.full(); ++replica_) {
      const v1::SuppliedReplica& replica = in.replicas(replica_);
      CheckName("shard", replica.shard(), kMostShardIdBytes);
      if (!shards_.insert(replica.shard()).second) {
        Twice("shard", replica.shard(), "each shard once on a server");
      }
      replicas.push_back({replica.shard(), replica.role(), replica.serving()});
    }
    return replicas;
  }

  void CheckName(std::string_view field, const std::string& name, size_t most) {
    if (!IsPlainName(name, most)) {
      Add(field, name.empty() ? "nothing" : Quoted(name), PlainNameRule(most));
    }
  }
  void Twice(std::string_view field, const std::string& name, std::string allowed) {
    Add(field, Quoted(name) + " (a second time)", std::move(allowed));
  }
  void Add(std::string_view field, std::string found, std::string allowed) {
    problems_.Add(PathInMap(server_, replica_, field), std::move(found), std::move(allowed));
  }

  const v1::SupplyMapRequest& request_;
  SpecProblems problems_;
  int server_ = 0;
  int replica_ = -1;  // -1: it is about the server
  absl::flat_hash_set<std::string> servers_;
  absl::flat_hash_set<std::string_view> shards_;  // of the server
};

}  // namespace

absl::StatusOr<SuppliedMap> ParseMap(const v1::SupplyMapRequest& request) {
  return MapParser(request).Parse();
}

absl::Status FillRolesIn(v1::ReplicationStrategy strategy, SuppliedMap& map) {
  const bool both = strategy == v1::PRIMARY_SECONDARY;
  const v1::Role only = strategy == v1::SECONDARY_ONLY ? v1::SECONDARY : v1::PRIMARY;
  for (size_t s = 0; s < map.servers.size(); ++s) {
    std::vector<SuppliedReplica>& replicas = map.servers[s].replicas;
    for (size_t r = 0; r < replicas.size(); ++r) {
      v1::Role& role = replicas[r].role;
      if (!both && role == v1::ROLE_UNSPECIFIED) role = only;
      if (both ? role == v1::PRIMARY || role == v1::SECONDARY : role == only) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          PathInMap(static_cast<int>(s), static_cast<int>(r), "role"), ": found ",
          role == v1::ROLE_UNSPECIFIED ? "nothing" : EnumLabel(role), "; allowed: ",
          both
              ? "primary, secondary"
              : absl::StrCat(EnumLabel(only), ", as the app's strategy is ", EnumLabel(strategy))));
    }
  }
  return absl::OkStatus();
}

}  // namespace shardmanager
