#include "model/spec/placement.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/spec/demand.h"
#include "model/spec/spec_names.h"
#include "model/text.h"

namespace shardmanager {
namespace {

void CheckReplicasOfRegion(const std::string& path, const v1::PlacementPolicy& placement,
                           uint32_t replicas, SpecProblems* problems) {
  const uint32_t most = MostInOneRegion(placement);
  if (placement.spread() == v1::REGION && replicas != 1) {
    problems->Add(path, absl::StrCat(replicas), "1 with placement.spread region");
  } else if (replicas > most && most < kMostReplicas) {
    problems->Add(path, absl::StrCat(replicas),
                  absl::StrCat("1 to ", most, ", as placement.spread_limits has for a region"));
  } else {
    problems->CheckBounds(path, replicas, {1, kMostReplicas});
  }
}

void CheckRegionReplicas(const v1::AppSpec& spec, const KnownRegions& regions,
                         SpecProblems* problems) {
  const v1::PlacementPolicy& placement = spec.placement();
  const uint32_t most = std::max(1U, spec.replication().replicas());
  absl::flat_hash_map<std::string, int> seen;
  uint64_t sum = 0;
  for (int i = 0; i < placement.region_replicas_size() && !problems->full(); ++i) {
    const v1::RegionReplicas& wanted = placement.region_replicas(i);
    const std::string path = absl::StrCat("placement.region_replicas[", i, "]");
    problems->CheckKnown(path, wanted);
    sum += wanted.replicas();
    if (!IsPlainName(wanted.region(), kMostRegionBytes)) {
      problems->Add(path + ".region", wanted.region().empty() ? "nothing" : Quoted(wanted.region()),
                    PlainNameRule(kMostRegionBytes));
    } else if (auto [first, is_new] = seen.emplace(wanted.region(), i); !is_new) {
      problems->Add(path + ".region",
                    absl::StrCat(Quoted(wanted.region()), " (already placement.region_replicas[",
                                 first->second, "])"),
                    "each region once");
    } else {
      regions.Check(path + ".region", wanted.region(), problems);
    }
    CheckReplicasOfRegion(path + ".replicas", placement, wanted.replicas(), problems);
  }
  if (sum > most) {
    problems->Add("placement.region_replicas", absl::StrCat(Counted(sum, "replica"), " in all"),
                  absl::StrCat("at most ", most, ", as replication.replicas has"));
  }
}

bool IsLimitLevel(v1::FaultDomainLevel level) {
  return level == v1::RACK || level == v1::DATACENTER || level == v1::REGION;
}

void CheckSpreadLimits(const v1::PlacementPolicy& placement, SpecProblems* problems) {
  absl::flat_hash_map<int, int> seen;
  for (int i = 0; i < placement.spread_limits_size() && !problems->full(); ++i) {
    const v1::SpreadLimit& limit = placement.spread_limits(i);
    const std::string path = absl::StrCat("placement.spread_limits[", i, "]");
    const std::string label = limit.level() == 0 ? "nothing" : EnumLabel(limit.level());
    problems->CheckKnown(path, limit);
    problems->CheckBounds(path + ".replicas", limit.replicas(), {1, kMostReplicas});
    if (!IsLimitLevel(limit.level())) {
      problems->Add(path + ".level", label,
                    absl::StrCat(EnumLabel(v1::RACK), ", ", EnumLabel(v1::DATACENTER), ", ",
                                 EnumLabel(v1::REGION)));
    } else if (limit.level() <= placement.spread()) {
      problems->Add(path + ".level", label,
                    absl::StrCat("a level above ", EnumLabel(placement.spread()),
                                 ", which placement.spread has: one replica in each"));
    } else if (auto [first, is_new] = seen.emplace(limit.level(), i); !is_new) {
      problems->Add(path + ".level",
                    absl::StrCat(label, " (already placement.spread_limits[", first->second, "])"),
                    "each level once");
    }
  }
}

}  // namespace

uint32_t MostInOneRegion(const v1::PlacementPolicy& placement) {
  if (placement.spread() == v1::REGION) return 1;
  uint32_t most = kMostReplicas;
  for (const v1::SpreadLimit& limit : placement.spread_limits()) {
    if (limit.level() != v1::REGION || limit.soft() || limit.replicas() == 0) continue;
    most = std::min(most, limit.replicas());
  }
  return most;
}

uint32_t MostInAllRegions(const v1::PlacementPolicy& placement) {
  const auto regions = static_cast<uint32_t>(placement.regions_size());
  if (regions == 0 || regions >= kMostReplicas) return kMostReplicas;
  return std::min(kMostReplicas, MostInOneRegion(placement) * regions);
}

void CheckPlacement(const v1::AppSpec& spec, SpecProblems* problems) {
  const v1::PlacementPolicy& placement = spec.placement();
  const KnownRegions regions(placement);
  problems->CheckKnown("placement", placement);
  regions.CheckList("placement.regions", placement.regions(), problems);
  regions.Check("placement.preferred_region", placement.preferred_region(), problems);
  CheckRegionReplicas(spec, regions, problems);
  CheckSpreadLimits(placement, problems);
  CheckDemand(placement, problems);
  if (!v1::FaultDomainLevel_IsValid(placement.spread())) {
    problems->Add("placement.spread", EnumLabel(placement.spread()),
                  EnumLabels(*v1::FaultDomainLevel_descriptor()));
  }
}

}  // namespace shardmanager
