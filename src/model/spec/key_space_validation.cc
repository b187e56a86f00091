#include "model/spec/key_space_validation.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/layout.h"
#include "model/text.h"

namespace shardmanager {
namespace {

std::string ShardPath(int index, const char* field) {
  return absl::StrCat("key_space.shards[", index, "]", field);
}

std::string SplitPath(int index) { return absl::StrCat("key_space.split_points[", index, "]"); }

// --- One shard at a time -----------------------------------------------------

class ShardListRules {
 public:
  ShardListRules(const v1::KeySpace& keys, const KnownRegions& regions, SpecProblems* problems)
      : keys_(keys), regions_(regions), problems_(*problems) {
    seen_.reserve(static_cast<size_t>(keys.shards_size()));
  }

  // Ids, regions, and each range by itself. Are the ranges fit to be compared?
  bool Check() {
    for (int i = 0; i < keys_.shards_size() && !problems_.full(); ++i) {
      CheckShard(i, keys_.shards(i));
      ranges_fit_ &= CheckRange(i, keys_.shards(i));
    }
    CheckAllOrNoneHaveRanges();
    return ranges_fit_ && keys_.shards(0).has_range();
  }

 private:
  void CheckShard(int index, const v1::Shard& shard) {
    problems_.CheckKnown(ShardPath(index, ""), shard);
    if (!IsPlainName(shard.id(), kMostShardIdBytes)) {
      problems_.Add(ShardPath(index, ".id"), shard.id().empty() ? "nothing" : Quoted(shard.id()),
                    PlainNameRule(kMostShardIdBytes));
    } else if (auto [first, is_new] = seen_.emplace(shard.id(), index); !is_new) {
      problems_.Add(ShardPath(index, ".id"),
                    absl::StrCat(Quoted(shard.id()), " (already the id of ",
                                 ShardPath(first->second, ""), ")"),
                    "an id that no other shard of the app has");
    }
    if (!shard.preferred_region().empty()) {
      regions_.Check(ShardPath(index, ".preferred_region"), shard.preferred_region(), &problems_);
    }
  }

  bool CheckRange(int index, const v1::Shard& shard) {
    if (!shard.has_range()) return true;
    const v1::KeyRange& range = shard.range();
    problems_.CheckKnown(ShardPath(index, ".range"), range);
    if (range.end().empty() || range.start() < range.end()) return true;
    problems_.Add(ShardPath(index, ".range.end"),
                  absl::StrCat(Quoted(range.end()), " (the range is empty)"),
                  absl::StrCat("a key after the range's start ", Quoted(range.start()),
                               ", or \"\": to the last key"));
    return false;
  }

  void CheckAllOrNoneHaveRanges() {
    const auto& shards = keys_.shards();
    const bool first_has = shards[0].has_range();
    const auto odd = std::find_if(shards.begin(), shards.end(), [&](const v1::Shard& shard) {
      return shard.has_range() != first_has;
    });
    if (odd == shards.end()) return;
    ranges_fit_ = false;
    const v1::Shard& without = first_has ? *odd : shards[0];
    const v1::Shard& with = first_has ? shards[0] : *odd;
    problems_.Add(ShardPath(static_cast<int>(odd - shards.begin()), ".range"),
                  absl::StrCat("a range on shard ", Quoted(with.id()), ", none on shard ",
                               Quoted(without.id())),
                  "a range on every shard, or on none");
  }

  const v1::KeySpace& keys_;
  const KnownRegions& regions_;
  SpecProblems& problems_;
  absl::flat_hash_map<std::string_view, int> seen_;
  bool ranges_fit_ = true;
};

// --- Ranges against each other -----------------------------------------------

// Positions of the shards by range start; equal starts stay in the spec's order.
std::vector<int> ByStart(const v1::KeySpace& keys) {
  std::vector<int> order(static_cast<size_t>(keys.shards_size()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return keys.shards(a).range().start() < keys.shards(b).range().start();
  });
  return order;
}

// Says what is wrong between a shard's start and `reach`, the shard before it that
// reaches furthest.
void CheckSeam(int index, const v1::Shard& shard, const v1::Shard& reach, SpecProblems* problems) {
  const std::string& start = shard.range().start();
  const std::string& end = reach.range().end();
  if (start == end && !end.empty()) return;
  std::string found;
  if (end.empty() || start < end) {
    found = absl::StrCat(Quoted(start), " (overlaps shard ", Quoted(reach.id()), ", which ends at ",
                         end.empty() ? "the last key" : Quoted(end), ")");
  } else {
    found = absl::StrCat(Quoted(start), " (no shard holds the keys from ", Quoted(end),
                         ", where shard ", Quoted(reach.id()), " ends)");
  }
  problems->Add(ShardPath(index, ".range.start"), found,
                end.empty() ? "ranges that do not overlap" : Quoted(end));
}

// Does `end` of one range reach further than `other`? "" is past every key.
bool ReachesFurther(const std::string& end, const std::string& other) {
  return !other.empty() && (end.empty() || end > other);
}

// REQUIRES: every shard has a range that is not empty.
void CheckCoverage(const v1::KeySpace& keys, SpecProblems* problems) {
  const std::vector<int> order = ByStart(keys);
  int reach = order[0];  // of the shards so far, the one that ends last
  if (const std::string& first = keys.shards(reach).range().start(); !first.empty()) {
    problems->Add(ShardPath(reach, ".range.start"),
                  absl::StrCat(Quoted(first), " (no shard holds the keys before it)"),
                  "\"\": from the first key");
  }
  for (size_t i = 1; i < order.size() && !problems->full(); ++i) {
    const v1::Shard& shard = keys.shards(order[i]);
    CheckSeam(order[i], shard, keys.shards(reach), problems);
    if (ReachesFurther(shard.range().end(), keys.shards(reach).range().end())) reach = order[i];
  }
  if (const std::string& last = keys.shards(reach).range().end(); !last.empty()) {
    problems->Add(ShardPath(reach, ".range.end"),
                  absl::StrCat(Quoted(last), " (no shard holds the keys from there on)"),
                  "\"\": to the last key");
  }
}

// --- Split points --------------------------------------------------------------

void CheckPrefix(const v1::KeySpace& keys, SpecProblems* problems) {
  const std::string& prefix = keys.shard_prefix();
  if (prefix.empty()) return;
  if (keys.split_points().empty() && keys.hash_shards() == 0) {
    problems->Add("key_space.shard_prefix", Quoted(prefix),
                  "nothing: the prefix names the shards made by split_points and hash_shards");
    return;
  }
  const size_t last = keys.hash_shards() > 0 ? keys.hash_shards() - 1
                                             : static_cast<size_t>(keys.split_points_size());
  const size_t digits = absl::StrCat(last).size();
  if (!IsPlainName(absl::StrCat(prefix, "0"), kMostShardIdBytes - digits + 1)) {
    problems->Add("key_space.shard_prefix", Quoted(prefix),
                  PlainNameRule(kMostShardIdBytes - digits));
  }
}

void CheckSplitPoints(const v1::KeySpace& keys, SpecProblems* problems) {
  for (int i = 0; i < keys.split_points_size() && !problems->full(); ++i) {
    const std::string& point = keys.split_points(i);
    if (point.empty()) {
      problems->Add(SplitPath(i), "\"\"", "a key: the first shard starts at \"\" by itself");
    } else if (i > 0 && point <= keys.split_points(i - 1)) {
      const std::string& before = keys.split_points(i - 1);
      problems->Add(SplitPath(i),
                    absl::StrCat(Quoted(point), point == before ? " (twice)" : " (not ascending)"),
                    absl::StrCat("a key after ", Quoted(before), " at ", SplitPath(i - 1)));
    }
  }
}

void CheckExactlyOneForm(const v1::KeySpace& keys, SpecProblems* problems) {
  std::vector<std::string> forms;
  const auto add = [&](const char* name, int64_t count) {
    if (count > 0) forms.push_back(absl::StrCat(name, " (", count, ")"));
  };
  add("shards", keys.shards_size());
  add("split_points", keys.split_points_size());
  add("hash_shards", keys.hash_shards());
  if (forms.size() == 1) return;
  problems->Add("key_space",
                forms.empty() ? "none of shards, split_points and hash_shards"
                              : absl::StrJoin(forms, " and "),
                "exactly one of shards, split_points and hash_shards");
}

// --- Hashes ------------------------------------------------------------------

// May a range of hashes begin, or end, there? Two texts that are different are different hashes.
void CheckHashBound(const std::string& path, const std::string& bound, SpecProblems* problems) {
  constexpr size_t kDigits = 16;
  if (bound.empty()) return;
  const bool are_digits = bound.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (are_digits && bound.size() <= kDigits && bound.back() != '0') return;
  problems->Add(
      path, Quoted(bound),
      "with hash_keys: the first digits of a hash, 1 to 16 of [0-9a-f], the last one not 0");
}

void CheckHashes(const v1::KeySpace& keys, SpecProblems* problems) {
  constexpr uint32_t kMostShards = 1'000'000;
  if (keys.hash_shards() > kMostShards) {
    problems->Add("key_space.hash_shards", absl::StrCat(keys.hash_shards()),
                  absl::StrCat("at most ", kMostShards));
  }
  if (!HashesKeys(keys)) return;
  for (int i = 0; i < keys.split_points_size() && !problems->full(); ++i) {
    CheckHashBound(SplitPath(i), keys.split_points(i), problems);
  }
  for (int i = 0; i < keys.shards_size() && !problems->full(); ++i) {
    const v1::Shard& shard = keys.shards(i);
    if (!shard.has_range()) {
      problems->Add(ShardPath(i, ".range"), "nothing", "a range of hashes, with hash_keys");
    }
    CheckHashBound(ShardPath(i, ".range.start"), shard.range().start(), problems);
    CheckHashBound(ShardPath(i, ".range.end"), shard.range().end(), problems);
  }
}

}  // namespace

void CheckKeySpace(const v1::AppSpec& spec, const KnownRegions& regions, SpecProblems* problems) {
  const v1::KeySpace& keys = spec.key_space();
  problems->CheckKnown("key_space", keys);
  CheckExactlyOneForm(keys, problems);
  if (keys.shards_size() > 0 && ShardListRules(keys, regions, problems).Check()) {
    CheckCoverage(keys, problems);
  }
  CheckSplitPoints(keys, problems);
  CheckPrefix(keys, problems);
  CheckHashes(keys, problems);
}

}  // namespace shardmanager
