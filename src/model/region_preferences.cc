#include "model/region_preferences.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/spec/spec_names.h"
#include "model/spec/spec_problems.h"
#include "model/text.h"

namespace shardmanager {
namespace {

using Regions = absl::flat_hash_map<std::string_view, std::string_view>;  // by shard

Regions RegionsOf(const v1::StoredPreferences& preferences) {
  Regions regions;
  for (const auto& region : preferences.regions()) {
    for (const std::string& shard : region.shards()) regions[shard] = region.region();
  }
  return regions;
}

std::string Path(int index, const char* field) {
  return absl::StrCat("preferences[", index, "].", field);
}

// Checks the list against the shards that there are.
class ListCheck {
 public:
  ListCheck(const v1::AppSpec& spec, const std::vector<LayoutShard>& layout)
      : regions_(spec.placement()) {
    places_.reserve(layout.size());
    for (const LayoutShard& shard : layout) places_[shard.id.value()] = kNotListed;
  }

  absl::Status Check(const PreferenceList& list) {
    for (int i = 0; i < list.size() && !problems_.full(); ++i) {
      CheckShard(i, list[i].shard());
      regions_.Check(Path(i, "region"), list[i].region(), &problems_);
      problems_.CheckKnown(absl::StrCat("preferences[", i, "]"), list[i]);
    }
    return ToStatus(problems_.Take());
  }

 private:
  void CheckShard(int index, const std::string& shard) {
    const auto place = places_.find(shard);
    if (place == places_.end()) {
      problems_.Add(Path(index, "shard"), shard.empty() ? "nothing" : Quoted(shard),
                    "a shard of the app");
    } else if (place->second != kNotListed) {
      problems_.Add(Path(index, "shard"), Quoted(shard),
                    absl::StrCat("each shard once; preferences[", place->second, "] has it too"));
    } else {
      place->second = index;
    }
  }

  static constexpr int kNotListed = -1;
  const KnownRegions regions_;
  absl::flat_hash_map<std::string_view, int> places_;  // in the list, by shard
  SpecProblems problems_;
};

v1::StoredPreferences ToStored(const std::vector<LayoutShard>& layout, const Regions& ordered) {
  std::map<std::string_view, std::map<std::string_view, bool>> sorted;
  for (const LayoutShard& shard : layout) {
    const auto order = ordered.find(shard.id.value());
    if (order != ordered.end()) sorted[order->second][shard.id.value()] = true;
  }
  v1::StoredPreferences stored;
  for (const auto& [region, shards] : sorted) {
    auto* entry = stored.add_regions();
    entry->set_region(std::string(region));
    for (const auto& [shard, unused] : shards) entry->add_shards(std::string(shard));
  }
  return stored;
}

}  // namespace

absl::StatusOr<PreferenceChange> ChangePreferences(const v1::AppSpec& spec,
                                                   const v1::StoredPreferences& before,
                                                   const PreferenceList& list, bool replace) {
  const std::vector<LayoutShard> layout = ExpandLayout(spec);
  if (absl::Status valid = ListCheck(spec, layout).Check(list); !valid.ok()) return valid;
  const Regions old = RegionsOf(before);
  Regions ordered = replace ? Regions() : old;
  for (const v1::ShardPreference& entry : list) {
    if (entry.region().empty()) {
      ordered.erase(entry.shard());
    } else {
      ordered[entry.shard()] = entry.region();
    }
  }
  const auto region_in = [](const Regions& regions, std::string_view shard) {
    const auto found = regions.find(shard);
    return found == regions.end() ? std::string_view() : found->second;
  };
  PreferenceChange change{.stored = ToStored(layout, ordered)};
  for (const LayoutShard& shard : layout) {
    change.changed +=
        region_in(old, shard.id.value()) != region_in(ordered, shard.id.value()) ? 1 : 0;
  }
  for (const v1::ShardPreference& entry : list) {
    change.unchanged += region_in(old, entry.shard()) == entry.region() ? 1 : 0;
  }
  return change;
}

std::vector<LayoutShard> ExpandLayout(const v1::AppSpec& spec,
                                      const v1::StoredPreferences& preferences) {
  std::vector<LayoutShard> layout = ExpandLayout(spec);
  if (preferences.regions().empty()) return layout;
  const Regions ordered = RegionsOf(preferences);
  for (LayoutShard& shard : layout) {
    const auto order = ordered.find(shard.id.value());
    if (order == ordered.end()) continue;
    shard.preferred_region = std::string(order->second);
    shard.region_ordered = true;
  }
  return layout;
}

}  // namespace shardmanager
