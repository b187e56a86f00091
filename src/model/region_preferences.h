// The regions in which operators want single shards, instead of where the spec says
// (StoredPreferences in stored.proto).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/layout.h"
#include "shardmanager/v1/app_spec.pb.h"
#include "shardmanager/v1/stored.pb.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

// ShardPreference.weight; what is ordered without one, or stands in the spec, has the least.
inline constexpr uint32_t kLeastPreferenceWeight = 1;
inline constexpr uint32_t kMostPreferenceWeight = 100;

using PreferenceList = google::protobuf::RepeatedPtrField<v1::ShardPreference>;

struct PreferenceChange {
  v1::StoredPreferences stored;
  uint32_t changed = 0;    // shards whose order is another one now
  uint32_t unchanged = 0;  // of the list
};

// What is ordered after the list; nothing but it with `replace`. Orders for shards that the spec
// does not have are forgotten. INVALID_ARGUMENT: entries that are wrong, by their place in the
// list, as "preferences[3].shard: ..."; a line each.
absl::StatusOr<PreferenceChange> ChangePreferences(const v1::AppSpec& spec,
                                                   const v1::StoredPreferences& before,
                                                   const PreferenceList& list, bool replace);

// ExpandLayout, and what is ordered in place of what the spec says.
std::vector<LayoutShard> ExpandLayout(const v1::AppSpec& spec,
                                      const v1::StoredPreferences& preferences);

}  // namespace shardmanager
