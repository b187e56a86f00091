#include "model/region_preferences.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
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

struct Order {
  std::string_view region;
  uint32_t weight = kLeastPreferenceWeight;
  friend auto operator<=>(const Order&, const Order&) = default;
};
using Orders = absl::flat_hash_map<std::string_view, Order>;  // by shard

// 0: it was ordered without one.
uint32_t WeightOf(uint32_t weight) { return std::max(weight, kLeastPreferenceWeight); }

Orders OrdersOf(const v1::StoredPreferences& preferences) {
  Orders orders;
  for (const auto& region : preferences.regions()) {
    const Order order{region.region(), WeightOf(region.weight())};
    for (const std::string& shard : region.shards()) orders[shard] = order;
  }
  return orders;
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
      CheckWeight(i, list[i]);
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

  void CheckWeight(int index, const v1::ShardPreference& entry) {
    const bool taken_back = entry.region().empty();
    if (entry.weight() == 0 || (!taken_back && entry.weight() <= kMostPreferenceWeight)) return;
    problems_.Add(Path(index, "weight"), absl::StrCat(entry.weight()),
                  taken_back ? "none without a region"
                             : absl::StrCat(kLeastPreferenceWeight, " to ", kMostPreferenceWeight));
  }

  static constexpr int kNotListed = -1;
  const KnownRegions regions_;
  absl::flat_hash_map<std::string_view, int> places_;  // in the list, by shard
  SpecProblems problems_;
};

v1::StoredPreferences ToStored(const std::vector<LayoutShard>& layout, const Orders& ordered) {
  std::map<Order, std::set<std::string_view>> sorted;
  for (const LayoutShard& shard : layout) {
    const auto order = ordered.find(shard.id.value());
    if (order != ordered.end()) sorted[order->second].insert(shard.id.value());
  }
  v1::StoredPreferences stored;
  for (const auto& [order, shards] : sorted) {
    auto* entry = stored.add_regions();
    entry->set_region(std::string(order.region));
    if (order.weight != kLeastPreferenceWeight) entry->set_weight(order.weight);
    for (const std::string_view shard : shards) entry->add_shards(std::string(shard));
  }
  return stored;
}

}  // namespace

absl::StatusOr<PreferenceChange> ChangePreferences(const v1::AppSpec& spec,
                                                   const v1::StoredPreferences& before,
                                                   const PreferenceList& list, bool replace) {
  const std::vector<LayoutShard> layout = ExpandLayout(spec);
  if (absl::Status valid = ListCheck(spec, layout).Check(list); !valid.ok()) return valid;
  const Orders old = OrdersOf(before);
  Orders ordered = replace ? Orders() : old;
  for (const v1::ShardPreference& entry : list) {
    if (entry.region().empty()) {
      ordered.erase(entry.shard());
    } else {
      ordered[entry.shard()] = {entry.region(), WeightOf(entry.weight())};
    }
  }
  const auto order_in = [](const Orders& orders, std::string_view shard) {
    const auto found = orders.find(shard);
    return found == orders.end() ? Order() : found->second;
  };
  PreferenceChange change{.stored = ToStored(layout, ordered)};
  for (const LayoutShard& shard : layout) {
    const std::string_view id = shard.id.value();
    change.changed += order_in(old, id) != order_in(ordered, id) ? 1 : 0;
  }
  for (const v1::ShardPreference& entry : list) {
    change.unchanged += order_in(old, entry.shard()) == order_in(ordered, entry.shard()) ? 1 : 0;
  }
  return change;
}

std::vector<LayoutShard> ExpandLayout(const v1::AppSpec& spec,
                                      const v1::StoredPreferences& preferences) {
  std::vector<LayoutShard> layout = ExpandLayout(spec);
  if (preferences.regions().empty()) return layout;
  const Orders ordered = OrdersOf(preferences);
  for (LayoutShard& shard : layout) {
    const auto order = ordered.find(shard.id.value());
    if (order == ordered.end()) continue;
    shard.preferred_region = std::string(order->second.region);
    shard.preference_weight = order->second.weight;
    shard.region_ordered = true;
  }
  return layout;
}

}  // namespace shardmanager
