#include "allocator/placer/problem_reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/placer/amounts.h"
#include "allocator/placer/rules.h"

namespace shardmanager::placer {
namespace {

using solver::ContainerId;
using solver::DomainId;
using solver::ObjectId;

constexpr int kMostMetrics = 1000;
constexpr int kMostServers = 100'000;
constexpr int kMostShards = 1'000'000;
constexpr uint32_t kMostReplicas = 10'000;
constexpr size_t kMostReplicasInAll = 3'000'000;
// Of tables: metrics times replicas, metrics times servers.
constexpr size_t kMostLoads = 50'000'000;
constexpr size_t kMostCapacities = 5'000'000;

using Names = std::unordered_map<std::string, uint32_t>;

absl::Status Wrong(const std::string& path, const std::string& found, const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": found ", found, "; allowed: ", allowed));
}

absl::Status CheckCount(const std::string& path, int found, int least, int most) {
  if (found >= least && found <= most) return absl::OkStatus();
  return Wrong(path, absl::StrCat(found, " entries"), absl::StrCat(least, " to ", most));
}

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", name.substr(0, 100), "\"");
}

// Names are there and unique; `path(i)` is that of the i-th.
template <typename NameOf, typename PathOf>
absl::StatusOr<Names> Index(int count, NameOf name_of, PathOf path_of) {
  Names names;
  for (int i = 0; i < count; ++i) {
    const std::string& name = name_of(i);
    if (name.empty()) return Wrong(path_of(i), "nothing", "a name");
    const auto [at, added] = names.emplace(name, static_cast<uint32_t>(i));
    if (added) continue;
    return Wrong(path_of(i),
                 Quoted(name) + ", which is also " + path_of(static_cast<int>(at->second)),
                 "a name of its own");
  }
  return names;
}

class Reader {
 public:
  Reader(const v1::PlacementProblem& message, ReadProblem& out)
      : message_(message), out_(out), problem_(out.problem) {}

  absl::Status Run() {
    if (absl::Status s = ReadMetrics(); !s.ok()) return s;
    if (absl::Status s = ReadServers(); !s.ok()) return s;
    if (absl::Status s = ReadShards(); !s.ok()) return s;
    if (absl::Status s = Amounts::Fill(message_, out_.shard_of, problem_); !s.ok()) return s;
    if (absl::Status s = problem_.Validate(); !s.ok()) return s;
    out_.model = std::make_unique<solver::Model>(problem_);
    return AddRules(message_, *out_.model);
  }

 private:
  absl::Status ReadMetrics() {
    if (absl::Status s = CheckCount("metrics", message_.metrics_size(), 1, kMostMetrics); !s.ok()) {
      return s;
    }
    const auto names = Index(
        message_.metrics_size(), [&](int i) -> const std::string& { return message_.metrics(i); },
        [](int i) { return absl::StrCat("metrics[", i, "]"); });
    if (!names.ok()) return names.status();
    for (const std::string& metric : message_.metrics()) problem_.metrics.push_back(metric);
    return absl::OkStatus();
  }

  absl::Status ReadServers() {
    if (absl::Status s = CheckCount("servers", message_.servers_size(), 1, kMostServers); !s.ok()) {
      return s;
    }
    auto names = Index(
        message_.servers_size(),
        [&](int i) -> const std::string& { return message_.servers(i).name(); },
        [](int i) { return absl::StrCat("servers[", i, "].name"); });
    if (!names.ok()) return names.status();
    servers_ = *std::move(names);
    problem_.containers = static_cast<uint32_t>(message_.servers_size());
    if (absl::Status s = CheckTable(problem_.containers, "servers", kMostCapacities); !s.ok()) {
      return s;
    }
    for (const v1::PlacerServer& server : message_.servers()) {
      problem_.container_names.push_back(server.name());
      problem_.closed.push_back(server.draining());
    }
    AddScope("rack", [](const v1::PlacerServer& s) {
      return absl::StrCat(s.region(), "/", s.datacenter(), "/", s.rack());
    });
    AddScope("datacenter", [](const v1::PlacerServer& s) {
      return absl::StrCat(s.region(), "/", s.datacenter());
    });
    AddScope("region", [](const v1::PlacerServer& s) { return s.region(); });
    return absl::OkStatus();
  }

  template <typename NameOf>
  void AddScope(const std::string& name, NameOf name_of) {
    solver::Scope scope{.name = name, .domain_of = {}, .names = {}, .domains = 0};
    Names domains;
    for (const v1::PlacerServer& server : message_.servers()) {
      const std::string domain = name_of(server);
      const auto [at, added] = domains.emplace(domain, scope.domains);
      if (added) {
        ++scope.domains;
        scope.names.push_back(domain);
      }
      scope.domain_of.push_back(DomainId(at->second));
    }
    problem_.scopes.push_back(std::move(scope));
  }

  absl::Status ReadShards() {
    if (absl::Status s = CheckCount("shards", message_.shards_size(), 0, kMostShards); !s.ok()) {
      return s;
    }
    const auto names = Index(
        message_.shards_size(),
        [&](int i) -> const std::string& { return message_.shards(i).name(); },
        [](int i) { return absl::StrCat("shards[", i, "].name"); });
    if (!names.ok()) return names.status();
    problem_.group_begin.push_back(0);
    for (int i = 0; i < message_.shards_size(); ++i) {
      if (absl::Status s = ReadShard(i); !s.ok()) return s;
    }
    problem_.objects = static_cast<uint32_t>(problem_.start.size());
    return CheckTable(problem_.objects, "replicas", kMostLoads);
  }

  // Before the table of as many rows is made.
  absl::Status CheckTable(uint32_t rows, const std::string& of, size_t most) const {
    const size_t metrics = problem_.metrics.size();
    if (rows * metrics <= most) return absl::OkStatus();
    return Wrong("metrics", absl::StrCat(metrics, " of them and ", rows, " ", of),
                 absl::StrCat("at most ", most, " as the product of the two"));
  }

  absl::Status ReadShard(int i) {
    const v1::PlacerShard& shard = message_.shards(i);
    const std::string path = absl::StrCat("shards[", i, "]");
    const auto standing = static_cast<uint32_t>(shard.servers_size());
    const uint32_t replicas = shard.replicas() == 0 ? std::max(1u, standing) : shard.replicas();
    if (replicas > kMostReplicas) {
      return Wrong(path + ".replicas", absl::StrCat(replicas),
                   absl::StrCat("1 to ", kMostReplicas));
    }
    if (standing > replicas) {
      return Wrong(path + ".servers", absl::StrCat(standing, " entries"),
                   absl::StrCat("at most ", replicas, ", as many as replicas"));
    }
    if (problem_.start.size() + replicas > kMostReplicasInAll) {
      return Wrong(path + ".replicas", "more than all others leave",
                   absl::StrCat(kMostReplicasInAll, " replicas in all"));
    }
    for (uint32_t r = 0; r < replicas; ++r) {
      ContainerId start;
      if (r < standing) {
        const auto at = servers_.find(shard.servers(static_cast<int>(r)));
        if (at == servers_.end()) {
          return Wrong(absl::StrCat(path, ".servers[", r, "]"),
                       Quoted(shard.servers(static_cast<int>(r))), "the name of a server");
        }
        start = ContainerId(at->second);
      }
      problem_.start.push_back(start);
      problem_.pinned.push_back(shard.pinned() && start.valid());
      out_.shard_of.push_back(static_cast<uint32_t>(i));
    }
    problem_.group_begin.push_back(static_cast<uint32_t>(problem_.start.size()));
    return absl::OkStatus();
  }

  const v1::PlacementProblem& message_;
  ReadProblem& out_;
  solver::Problem& problem_;
  Names servers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReadProblem>> Read(const v1::PlacementProblem& message) {
  auto out = std::make_unique<ReadProblem>();
  if (absl::Status s = Reader(message, *out).Run(); !s.ok()) return s;
  return out;
}

}  // namespace shardmanager::placer
