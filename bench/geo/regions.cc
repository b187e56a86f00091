#include "geo/regions.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "own_servers.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

constexpr std::chrono::seconds kPatience{300};

}  // namespace

// As between places on one line, the next one 20 ms away.
int Regions::DelayMs(size_t from, size_t to) {
  return 20 * std::abs(static_cast<int>(from) - static_cast<int>(to));
}

absl::Status Regions::SetUp(const v1::AppSpec& spec) {
  std::filesystem::remove_all(options_.folder);  // of the run before; nothing else
  std::filesystem::create_directories(options_.folder);
  auto network = local::Network::Make();
  if (!network.ok()) return network.status();
  network_ = *std::move(network);
  if (absl::Status s = network_->Enter(local::Network::kClients); !s.ok()) return s;
  auto cluster =
      local::Cluster::Make({.folder = options_.folder, .zookeepers = 3, .network = network_.get()});
  if (!cluster.ok()) return cluster.status();
  cluster_ = *std::move(cluster);
  for (const std::string& region : options_.regions) {
    if (const auto machine = network_->Get(region); !machine.ok()) return machine.status();
  }
  Connect();
  if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
  map_ = cluster_->WatchMap();
  for (const std::string& region : options_.regions) {
    if (absl::Status s = StartServers(region); !s.ok()) return s;
  }
  if (absl::Status s = cluster_->admin().Apply(spec).status(); !s.ok()) return s;
  return Await(
             "all is served", [](const auto& v) { return v.all_served(); }, MonotonicNow())
      .status();
}

// The control plane stands in the last region.
void Regions::Connect() {
  const std::set<std::string> regions(options_.regions.begin(), options_.regions.end());
  std::set<std::string> control;
  for (const std::string& name : network_->names()) {
    if (!regions.contains(name)) control.insert(name);
  }
  const size_t last = options_.regions.size() - 1;
  for (size_t i = 0; i < options_.regions.size(); ++i) {
    const std::set<std::string> here = {options_.regions[i]};
    const auto link = [&](size_t j) {
      return local::Link{.delay = std::chrono::milliseconds(DelayMs(i, j))};
    };
    for (size_t j = 0; j < i; ++j) network_->SetLinks(here, {options_.regions[j]}, link(j));
    network_->SetLinks(here, control, link(last));
  }
}

std::vector<std::string> Regions::ServerNames(const std::string& region) const {
  std::vector<std::string> names;
  for (int i = 1; i <= options_.servers_each; ++i) {
    names.push_back(absl::StrFormat("%s-%02d", region, i));
  }
  return names;
}

absl::Status Regions::StartServers(const std::string& region) {
  for (const std::string& name : ServerNames(region)) {
    absl::Status s = cluster_->StartServer({.name = name,
                                            .region = region,
                                            .datacenter = absl::StrCat("dc-", region),
                                            .rack = name,
                                            .program = {OwnProgram(), "serve"},
                                            .machine = region});
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

void Regions::KillServers(const std::string& region) {
  for (const std::string& name : ServerNames(region)) cluster_->server(name).Kill();
}

std::string Regions::CallsFile(const std::string& region) const {
  return absl::StrCat(options_.folder, "/calls-", region);
}

void Regions::SetCalls(const std::string& region, const std::string& lines) {
  const std::string file = CallsFile(region);
  std::ofstream(file + ".new") << lines;
  std::filesystem::rename(file + ".new", file);
}

absl::Status Regions::StartCaller(const std::string& region, double rate, bool reads) {
  if (begin_ms_ == 0) begin_ms_ = WallMs();
  const auto machine = network_->Get(region);
  if (!machine.ok()) return machine.status();
  const std::string name = absl::StrCat("caller-", region);
  std::vector<std::string> argv = {OwnProgram(),  "call",
                                   "--discovery", cluster_->discovery_endpoint(),
                                   "--region",    region,
                                   "--shards",    CallsFile(region),
                                   "--out",       absl::StrCat(options_.folder, "/seen-", region),
                                   "--begin",     absl::StrCat(begin_ms_),
                                   "--rate",      absl::StrCat(rate)};
  if (reads) argv.push_back("--reads");
  callers_[region] = std::make_unique<local::Program>(name, std::move(argv), options_.folder,
                                                      machine->network_namespace);
  return callers_[region]->Start();
}

absl::Status Regions::StopCallers(CallerLog& log) {
  for (auto& [region, caller] : callers_) {
    if (const int code = caller->Stop(); code != 0) {
      return absl::InternalError(
          absl::StrCat("the caller ended with ", code, ": ", caller->LogTail(10)));
    }
    absl::Status s = log.Read(absl::StrCat(options_.folder, "/seen-", region));
    if (!s.ok()) return s;
  }
  callers_.clear();
  return absl::OkStatus();
}

absl::Status Regions::Explained(absl::Status status) const {
  if (!status.ok() && cluster_ != nullptr) {
    std::fprintf(stderr, "%s\n", cluster_->Logs(20).c_str());
  }
  return status;
}

double Regions::SecondsNow() const { return static_cast<double>(WallMs() - begin_ms_) / 1e3; }

absl::StatusOr<double> Regions::Await(const std::string& what,
                                      const std::function<bool(const local::MapView&)>& so,
                                      TimePoint begin) const {
  local::MapView seen;
  if (map_->WaitFor(so, kPatience, &seen)) return InSeconds(seen.changed - begin);
  return absl::DeadlineExceededError(
      absl::StrCat(what, ": not so after ", kPatience.count(), " s: ", map_->view().Describe()));
}

std::string ShardName(int shard) { return absl::StrFormat("s-%04d", shard); }

v1::AppSpec SpecOf(v1::ReplicationStrategy strategy, int shards) {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.mutable_replication()->set_strategy(strategy);
  for (int shard = 0; shard < shards; ++shard) {
    spec.mutable_key_space()->add_shards()->set_id(ShardName(shard));
  }
  return spec;
}

v1::AppSpec SpecOfTwoRegionsEach(int shards) {
  v1::AppSpec spec = SpecOf(v1::SECONDARY_ONLY, shards);
  spec.mutable_replication()->set_replicas(2);
  spec.mutable_placement()->set_spread(v1::REGION);
  return spec;
}

bool HasTwoRegionsEach(const local::MapView& view) {
  return std::all_of(view.shards.begin(), view.shards.end(),
                     [&](const auto& shard) { return RegionsOfShard(view, shard) == 2; });
}

bool HasLeft(const local::MapView& view, const std::string& region) {
  return HasTwoRegionsEach(view) &&
         std::none_of(view.shards.begin(), view.shards.end(),
                      [&](const auto& shard) { return IsIn(view, shard, region); });
}

size_t RegionsOfShard(const local::MapView& view, const local::MapView::Shard& shard) {
  std::set<std::string> regions;
  for (const uint32_t server : shard.servers) {
    regions.insert(Regions::RegionOf(view.servers.at(server)));
  }
  return regions.size();
}

bool IsIn(const local::MapView& view, const local::MapView::Shard& shard,
          const std::string& region) {
  return std::any_of(shard.servers.begin(), shard.servers.end(), [&](uint32_t server) {
    return Regions::RegionOf(view.servers.at(server)) == region;
  });
}

}  // namespace shardmanager
