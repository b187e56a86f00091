// The rules on names in a spec.
#pragma once

#include <string>

#include "absl/container/flat_hash_set.h"
#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

// AppSpec.name: also fit to be a file's name.
bool IsAppName(const std::string& name);
void CheckAppName(const std::string& name, SpecProblems* problems);

// Of shards, prefixes and regions: 1 to `most` characters of [A-Za-z0-9._-].
bool IsPlainName(const std::string& name, size_t most);
// What IsPlainName allows, for people.
std::string PlainNameRule(size_t most);

inline constexpr size_t kMostShardIdBytes = 127;
inline constexpr size_t kMostRegionBytes = 63;

// The regions that a spec may name. REQUIRES: `placement` outlives it.
class KnownRegions {
 public:
  explicit KnownRegions(const v1::PlacementPolicy& placement);

  // Checks `region`, found at `path`; "" is fine: no region is asked for.
  void Check(const std::string& path, const std::string& region, SpecProblems* problems) const;
  // Checks the list at `path`: each of them once.
  void CheckList(const std::string& path,
                 const google::protobuf::RepeatedPtrField<std::string>& regions,
                 SpecProblems* problems) const;

 private:
  // Distinct names of placement.regions; empty: any region.
  absl::flat_hash_set<std::string> names_;
  std::string allowed_;
};

}  // namespace shardmanager
