#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "geo/regions.h"
#include "geo/scenarios.h"
#include "runtime/clock.h"
#include "shardmanager/v1/what_if.pb.h"

namespace shardmanager {
namespace {

using local::MapView;

constexpr char kLost[] = "east";
constexpr char kWeight[] = "weight";
constexpr std::chrono::seconds kSettles{60};  // the balance, after all is served

v1::AppSpec Spec(const GeoFlags& flags) {
  v1::AppSpec spec = SpecOfTwoRegionsEach(flags.shards);
  v1::Metric& weight = *spec.add_metrics();
  weight.set_name(kWeight);
  // Five eighths full: the other regions can take it.
  weight.set_capacity(10.5 * 2 * flags.shards / (4 * flags.servers) * 1.6);
  spec.mutable_moves()->set_collect_interval_ms(2'000);
  spec.mutable_moves()->set_balance_interval_ms(1'000);
  return spec;
}

// The servers of each shard.
using Placement = std::map<std::string, std::set<std::string>>;

Placement PlacementOf(const v1::AppSnapshot& snapshot) {
  Placement placement;
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    for (const v1::ReplicaStatus& replica : shard.replicas()) {
      if (Regions::RegionOf(replica.server()) != kLost) {
        placement[shard.shard()].insert(replica.server());
      }
    }
  }
  return placement;
}

std::set<std::string> Added(const Placement& before, const Placement& after,
                            const std::string& shard) {
  const std::set<std::string>& was = before.at(shard);
  std::set<std::string> added;
  for (const std::string& server : after.at(shard)) {
    if (!was.contains(server)) added.insert(server);
  }
  return added;
}

std::multiset<std::string> RegionsOf(const std::set<std::string>& servers) {
  std::multiset<std::string> regions;
  for (const std::string& server : servers) regions.insert(Regions::RegionOf(server));
  return regions;
}

template <typename Set>
size_t InBoth(const Set& a, const Set& b) {
  Set both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both.size();
}

double MostWeight(const v1::AppSnapshot& snapshot) {
  double most = 0;
  for (const v1::ServerStatus& server : snapshot.servers()) {
    for (const v1::MetricUse& use : server.loads()) {
      if (server.state() == "live" && use.metric() == kWeight) most = std::max(most, use.used());
    }
  }
  return most;
}

class WhatIf {
 public:
  WhatIf(const GeoFlags& flags, Figures& figures)
      : flags_(flags),
        figures_(figures),
        regions_({.folder = flags.folder,
                  .regions = {kLost, "central", "mountain", "west"},
                  .servers_each = flags.servers}) {}

  absl::Status Run() { return regions_.Explained(Measure()); }

 private:
  absl::Status Measure() {
    if (absl::Status s = regions_.SetUp(Spec(flags_)); !s.ok()) return s;
    std::this_thread::sleep_for(kSettles);
    v1::AppSnapshot before, after;
    if (absl::Status s = Take("before.json", before); !s.ok()) return s;
    v1::WhatIfReport report;
    if (absl::Status s = Predict(report); !s.ok()) return s;
    const TimePoint begin = MonotonicNow();
    regions_.KillServers(kLost);
    const auto left = [](const MapView& view) { return HasLeft(view, kLost); };
    if (auto s = regions_.Await("two regions again", left, begin); !s.ok()) return s.status();
    std::this_thread::sleep_for(kSettles);
    if (absl::Status s = Take("after.json", after); !s.ok()) return s;
    Compare(before, report.placement(), after);
    return absl::OkStatus();
  }

  absl::Status Take(const std::string& name, v1::AppSnapshot& snapshot) {
    const std::string file = absl::StrCat(flags_.folder, "/", name);
    const auto taken = regions_.cluster().Shardctl({"snapshot", "--app", "kv", "-o", file});
    if (taken.exit_code != 0) return absl::InternalError(taken.output);
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return ReadJson(text.str(), &snapshot);
  }

  absl::Status Predict(v1::WhatIfReport& report) {
    std::vector<std::string> command = {"simulate", "--app", "kv", "--lose",
                                        absl::StrCat("region=", kLost)};
    const TimePoint begin = MonotonicNow();
    const auto shown = regions_.cluster().Shardctl(command);
    figures_.push_back(
        absl::StrFormat("FIGURE whatif_ms %.0f ms", 1e3 * InSeconds(MonotonicNow() - begin)));
    std::printf("%s", shown.output.c_str());
    command.insert(command.end(), {"--placement", "-o", "json"});
    const auto predicted = regions_.cluster().Shardctl(command);
    if (predicted.exit_code != 0) return absl::InternalError(predicted.output);
    return ReadJson(predicted.output, &report);
  }

  static absl::Status ReadJson(const std::string& text, google::protobuf::Message* message) {
    const auto status = google::protobuf::util::JsonStringToMessage(text, message);
    return status.ok() ? absl::OkStatus() : absl::InternalError(std::string(status.message()));
  }

  void Compare(const v1::AppSnapshot& before, const v1::AppSnapshot& predicted,
               const v1::AppSnapshot& real) {
    const Placement was = PlacementOf(before), said = PlacementOf(predicted),
                    is = PlacementOf(real);
    size_t came = 0, said_came = 0, same_region = 0, same_server = 0;
    std::multiset<std::string> came_to, said_to;  // regions
    for (const auto& [shard, servers] : is) {
      const std::set<std::string> added = Added(was, is, shard);
      const std::set<std::string> expected = Added(was, said, shard);
      came += added.size();
      said_came += expected.size();
      same_server += InBoth(added, expected);
      same_region += InBoth(RegionsOf(added), RegionsOf(expected));
      came_to.merge(RegionsOf(added));
      said_to.merge(RegionsOf(expected));
    }
    const auto percent = [&](size_t of) {
      return came == 0 ? 0 : 100.0 * static_cast<double>(of) / static_cast<double>(came);
    };
    figures_.push_back(absl::StrFormat("FIGURE whatif_moves_agreement_pct %.1f %%",
                                       percent(InBoth(came_to, said_to))));
    figures_.push_back(
        absl::StrFormat("FIGURE whatif_shards_agreement_pct %.1f %%", percent(same_region)));
    figures_.push_back(
        absl::StrFormat("FIGURE whatif_servers_agreement_pct %.1f %%", percent(same_server)));
    figures_.push_back(absl::StrFormat("FIGURE whatif_moves_predicted %d replicas", said_came));
    figures_.push_back(absl::StrFormat("FIGURE whatif_moves_real %d replicas", came));
    figures_.push_back(
        absl::StrFormat("FIGURE whatif_most_weight_predicted %.0f", MostWeight(predicted)));
    figures_.push_back(absl::StrFormat("FIGURE whatif_most_weight_real %.0f", MostWeight(real)));
  }

  const GeoFlags& flags_;
  Figures& figures_;
  Regions regions_;
};

}  // namespace

absl::Status RunWhatIf(const GeoFlags& flags, Figures& figures) {
  return WhatIf(flags, figures).Run();
}

}  // namespace shardmanager
