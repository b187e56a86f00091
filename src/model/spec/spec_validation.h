// Is this AppSpec right, and may it replace that one? Pure; the one place that
// knows the rules written on the fields of app_spec.proto.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

// One thing that is wrong. Rendered "<path>: found <found>; allowed: <allowed>".
// Example: "key_space.shards[3].range.start: found "m" (overlaps shard "s-2", which
// ends at "n"); allowed: "n"".
struct SpecProblem {
  std::string path;
  std::string found;
  std::string allowed;

  std::string ToString() const;
};

// All problems, in field order; empty: the spec is valid. At most 20 are listed.
std::vector<SpecProblem> ValidateSpec(const v1::AppSpec& spec);

// OK or INVALID_ARGUMENT with one problem a line.
absl::Status ToStatus(const std::vector<SpecProblem>& problems);

// The spec with every default filled in. REQUIRES: valid.
v1::AppSpec WithDefaults(v1::AppSpec spec);

// INVALID_ARGUMENT: what cannot be changed differs. REQUIRES: both valid.
absl::Status CheckReplacement(const v1::AppSpec& before, const v1::AppSpec& after);

struct SpecChange {
  // What differs, a line each, for people. Empty: nothing does.
  std::vector<std::string> differences;
  // Why it needs --force: shards or key ranges that would be lost or change
  // hands, or a change of replication strategy. Empty: it does not.
  std::vector<std::string> losses;
};

// REQUIRES: both valid, same name.
SpecChange CompareSpecs(const v1::AppSpec& before, const v1::AppSpec& after);

}  // namespace shardmanager
