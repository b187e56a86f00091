#include "whatif/capacity.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "whatif/states.h"
#include "whatif/what_if.h"

namespace shardmanager::whatif {
namespace {

constexpr uint32_t kMostToOneRegion = 1'000;

using ByRegion = std::map<std::string, uint32_t>;

class Search {
 public:
  Search(const v1::AppSnapshot& snapshot, const v1::CapacityQuestion& question,
         const std::function<void()>& tried)
      : snapshot_(snapshot), question_(question), tried_(tried) {
    for (const v1::ServerStatus& server : snapshot.servers()) {
      if (IsLive(server)) ++live_[server.fault_domain().region()];
    }
  }

  absl::StatusOr<v1::CapacityReport> Run() {
    if (live_.size() < 2) {
      return absl::FailedPreconditionError(absl::StrCat(
          "found live servers in ", Counted(live_.size(), "region"),
          "; allowed: two or more, so that the others can take the shards of a lost one"));
    }
    if (const auto nowhere = live_.find(""); nowhere != live_.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("found ", Counted(nowhere->second, "live server"),
                       " without a region; allowed: all of them in regions"));
    }
    const absl::StatusOr<uint32_t> each = LeastForAll();
    if (!each.ok()) return each.status();
    for (const auto& [region, servers] : live_) added_[region] = *each;
    for (auto& [region, added] : added_) {
      if (absl::Status s = Lower(added); !s.ok()) return s;
    }
    return Report();
  }

 private:
  // The least number that is enough if each region gets it.
  absl::StatusOr<uint32_t> LeastForAll() {
    uint32_t all = 0;
    for (const auto& [region, servers] : live_) all += servers;
    const uint32_t most =
        question_.most_added() == 0 ? std::min(all, kMostToOneRegion) : question_.most_added();
    if (absl::Status s = LearnWhatCannotBeHelped(most); !s.ok()) return s;
    return Least(most, [this](uint32_t count) {
      ByRegion added;
      for (const auto& [region, servers] : live_) added[region] = count;
      return Fits(added);
    });
  }

  // With so many servers nothing is short of room; what still is not as it should be stays so.
  absl::Status LearnWhatCannotBeHelped(uint32_t most) {
    ByRegion added;
    for (const auto& [region, servers] : live_) added[region] = most;
    for (const auto& [region, servers] : live_) {
      const auto outlook = IfLost(region, added);
      if (!outlook.ok()) return outlook.status();
      degraded_[region] = outlook->shards_degraded();
      const std::string why = WhatIsBroken(region, *outlook);
      if (why.empty()) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("with ", Counted(most, "more server"), " in each region, the loss of ",
                       Printable(region), " still breaks a limit: ", why));
    }
    return absl::OkStatus();
  }

  absl::Status Lower(uint32_t& added) {
    const absl::StatusOr<uint32_t> least = Least(added, [&](uint32_t count) {
      const uint32_t before = std::exchange(added, count);
      absl::StatusOr<bool> fits = Fits(added_);
      added = before;
      return fits;
    });
    if (!least.ok()) return least.status();
    added = *least;
    return absl::OkStatus();
  }

  // The least number from 0 to `most` that is enough. REQUIRES: `most` is.
  template <typename IsEnough>
  static absl::StatusOr<uint32_t> Least(uint32_t most, IsEnough is_enough) {
    uint32_t low = 0;
    while (low < most) {
      const uint32_t middle = low + (most - low) / 2;
      const absl::StatusOr<bool> enough = is_enough(middle);
      if (!enough.ok()) return enough.status();
      if (*enough) {
        most = middle;
      } else {
        low = middle + 1;
      }
    }
    return most;
  }

  absl::StatusOr<bool> Fits(const ByRegion& added) {
    for (const auto& [region, servers] : live_) {
      const auto outlook = IfLost(region, added);
      if (!outlook.ok()) return outlook.status();
      if (!WhatIsBroken(region, *outlook).empty()) return false;
    }
    return true;
  }

  absl::StatusOr<v1::Outlook> IfLost(const std::string& lost, const ByRegion& added) {
    v1::ImaginedChange change;
    change.set_load_factor(question_.load_factor());
    change.add_lose()->mutable_domain()->set_region(lost);
    for (const auto& [region, count] : added) {
      if (region == lost || count == 0) continue;
      v1::AddedServers& servers = *change.add_add();
      servers.set_count(count);
      servers.set_region(region);
    }
    auto report = Simulate(snapshot_, change);
    tried_();
    if (!report.ok()) return report.status();
    return std::move(*report->mutable_after());
  }

  // "": nothing.
  std::string WhatIsBroken(const std::string& region, const v1::Outlook& outlook) const {
    if (outlook.shards_served() < outlook.shards()) {
      return absl::StrCat(Counted(outlook.shards() - outlook.shards_served(), "shard"),
                          " not served");
    }
    const auto degraded = degraded_.find(region);
    const uint32_t unavoidable = degraded == degraded_.end() ? 0 : degraded->second;
    if (outlook.shards_degraded() > unavoidable) {
      return absl::StrCat(Counted(outlook.shards_degraded(), "shard"), " with too few replicas");
    }
    for (const v1::MetricOutlook& metric : outlook.metrics()) {
      if (metric.servers_over() == 0) continue;
      return absl::StrFormat("%s above the threshold of %s, at most %.1f %% of what it can carry",
                             Counted(metric.servers_over(), "server"), Printable(metric.metric()),
                             metric.most_pct());
    }
    return "";
  }

  absl::StatusOr<v1::CapacityReport> Report() {
    v1::CapacityReport report;
    uint32_t all = 0;
    for (const auto& [name, servers] : live_) {
      v1::RegionCapacity& region = *report.add_regions();
      region.set_region(name);
      region.set_servers_live(servers);
      region.set_servers_needed(servers + added_.at(name));
      all += added_.at(name);
      auto outlook = IfLost(name, added_);
      if (!outlook.ok()) return outlook.status();
      *region.mutable_if_lost() = *std::move(outlook);
    }
    report.set_servers_added(all);
    return report;
  }

  const v1::AppSnapshot& snapshot_;
  const v1::CapacityQuestion& question_;
  const std::function<void()>& tried_;
  ByRegion live_;
  ByRegion degraded_;  // shards with too few replicas, however many servers there are
  ByRegion added_;
};

}  // namespace

absl::StatusOr<v1::CapacityReport> PlanCapacity(const v1::AppSnapshot& snapshot,
                                                const v1::CapacityQuestion& question,
                                                const std::function<void()>& tried) {
  if (question.most_added() > kMostToOneRegion) {
    return absl::InvalidArgumentError(absl::StrCat("most_added: found ", question.most_added(),
                                                   "; allowed: 0 to ", kMostToOneRegion));
  }
  return Search(snapshot, question, tried).Run();
}

}  // namespace shardmanager::whatif
