#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/layout.h"
#include "model/spec/field_diff.h"
#include "model/spec/spec_validation.h"
#include "model/text.h"

namespace shardmanager {
namespace {

// A count of shards, and the first few of them, for a line.
struct Examples {
  static constexpr size_t kMost = 3;

  void Add(const std::string& example) {
    if (++count <= kMost) absl::StrAppend(&text, count > 1 ? ", " : "", example);
  }
  std::string Text() const { return absl::StrCat(text, count > kMost ? ", ..." : ""); }

  size_t count = 0;
  std::string text;
};

struct LayoutDifference {
  size_t before = 0;  // shards
  size_t after = 0;
  Examples added;
  Examples removed;
  Examples ranges;   // shards in both that hold other keys
  Examples regions;  // shards in both that ask for another region by themselves
};

std::string RangeOf(const LayoutShard& shard) {
  if (!shard.has_range) return "no range";
  return shard.hashed ? HashRangeText(shard.start, shard.end) : RangeText(shard.start, shard.end);
}

bool SameKeys(const LayoutShard& a, const LayoutShard& b) {
  return a.has_range == b.has_range && a.hashed == b.hashed && a.start == b.start && a.end == b.end;
}

// Differs the region that the shard asks for beside the app-wide one?
bool OwnRegionDiffers(const LayoutShard& a, const std::string& app_wide_a, const LayoutShard& b,
                      const std::string& app_wide_b) {
  const bool both_app_wide = a.preferred_region == app_wide_a && b.preferred_region == app_wide_b;
  return a.preferred_region != b.preferred_region && !both_app_wide;
}

LayoutDifference CompareLayouts(const v1::AppSpec& before, const v1::AppSpec& after) {
  const std::vector<LayoutShard> old_layout = ExpandLayout(before);
  const std::vector<LayoutShard> new_layout = ExpandLayout(after);
  absl::flat_hash_map<std::string_view, const LayoutShard*> old_shards;
  old_shards.reserve(old_layout.size());
  for (const LayoutShard& shard : old_layout) old_shards.emplace(shard.id.value(), &shard);

  LayoutDifference difference{.before = old_layout.size(), .after = new_layout.size()};
  for (const LayoutShard& shard : new_layout) {
    const auto found = old_shards.find(shard.id.value());
    if (found == old_shards.end()) {
      difference.added.Add(shard.id.value());
      continue;
    }
    const LayoutShard& old = *found->second;
    if (!SameKeys(old, shard)) {
      difference.ranges.Add(
          absl::StrCat(shard.id.value(), ": ", RangeOf(old), " -> ", RangeOf(shard)));
    }
    if (OwnRegionDiffers(old, before.placement().preferred_region(), shard,
                         after.placement().preferred_region())) {
      difference.regions.Add(shard.id.value());
    }
    old_shards.erase(found);
  }
  // In layout order, not in the hash map's.
  for (const LayoutShard& shard : old_layout) {
    if (old_shards.contains(shard.id.value())) difference.removed.Add(shard.id.value());
  }
  return difference;
}

// "shards: 120 -> 128 (9 added: a, b, c, ...; 1 removed: d)".
void AppendShardCounts(const LayoutDifference& layout, std::vector<std::string>* lines) {
  if (layout.added.count + layout.removed.count == 0) return;
  std::string how;
  if (layout.added.count > 0) {
    how = absl::StrCat(layout.added.count, " added: ", layout.added.Text());
  }
  if (layout.removed.count > 0) {
    absl::StrAppend(&how, how.empty() ? "" : "; ", layout.removed.count,
                    " removed: ", layout.removed.Text());
  }
  lines->push_back(absl::StrCat("shards: ", layout.before, " -> ", layout.after, " (", how, ")"));
}

void AppendLayoutLines(const LayoutDifference& layout, SpecChange* change) {
  AppendShardCounts(layout, &change->differences);
  if (layout.ranges.count > 0) {
    change->differences.push_back(
        absl::StrCat("key ranges: ", layout.ranges.count, " changed (", layout.ranges.Text(), ")"));
    change->losses.push_back(
        absl::StrCat("keys change hands: ", Counted(layout.ranges.count, "shard"),
                     " would hold other keys (", layout.ranges.Text(), ")"));
  }
  if (layout.regions.count > 0) {
    change->differences.push_back(
        absl::StrCat("preferred regions of shards: ", layout.regions.count, " changed (",
                     layout.regions.Text(), ")"));
  }
  if (layout.removed.count > 0) {
    change->losses.insert(change->losses.begin(),
                          absl::StrCat(Counted(layout.removed.count, "shard"),
                                       " would be lost: ", layout.removed.Text()));
  }
}

}  // namespace

absl::Status CheckReplacement(const v1::AppSpec& before, const v1::AppSpec& after) {
  const auto of = [](const v1::AppSpec& spec) {
    return spec.orchestrator() == v1::APPLICATION ? v1::APPLICATION : v1::SHARD_MANAGER;
  };
  const v1::Orchestrator was = of(before);
  const v1::Orchestrator is = of(after);
  if (was == is) return absl::OkStatus();
  return ToStatus({{.path = "orchestrator",
                    .found = EnumLabel(is),
                    .allowed = absl::StrCat(EnumLabel(was),
                                            ", as before: to change it, delete the "
                                            "app and make it again")}});
}

SpecChange CompareSpecs(const v1::AppSpec& before, const v1::AppSpec& after) {
  const v1::AppSpec was = WithDefaults(before);
  const v1::AppSpec is = WithDefaults(after);
  SpecChange change;
  AppendLayoutLines(CompareLayouts(was, is), &change);
  AppendFieldDifferences(was, is, "key_space", &change.differences);
  if (was.replication().strategy() != is.replication().strategy()) {
    change.losses.push_back(absl::StrCat(
        "the replication strategy changes from ", EnumLabel(was.replication().strategy()), " to ",
        EnumLabel(is.replication().strategy()), ": every shard is dropped and added again"));
  }
  return change;
}

}  // namespace shardmanager
