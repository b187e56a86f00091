#include "model/spec/scaling.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/spec/placement.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr double kMostTarget = 1e12;
constexpr uint32_t kLeastDownAfterMs = 1'000;
constexpr uint32_t kMostDownAfterMs = 86'400'000;

void CheckStrategy(const v1::Replication& replication, SpecProblems* problems) {
  if (replication.strategy() == v1::PRIMARY_ONLY) {
    problems->Add("scaling", "a value, with replication.strategy PRIMARY_ONLY",
                  "nothing: a shard has one replica");
  } else if (replication.quorum()) {
    problems->Add("scaling", "a value, with replication.quorum",
                  "nothing: how many members a shard has is for its consensus to know");
  }
}

void CheckMetric(const v1::AppSpec& spec, SpecProblems* problems) {
  std::vector<std::string> names;
  for (const v1::Metric& metric : spec.metrics()) names.push_back(metric.name());
  const std::string& found = spec.scaling().metric();
  if (std::find(names.begin(), names.end(), found) != names.end()) return;
  problems->Add("scaling.metric", found.empty() ? "nothing" : Quoted(found),
                names.empty() ? "the name of one of `metrics`, which is empty"
                              : absl::StrCat("one of `metrics`: ", absl::StrJoin(names, ", ")));
}

void CheckMost(const v1::AppSpec& spec, SpecProblems* problems) {
  const uint32_t least = std::max(1U, spec.replication().replicas());
  const uint32_t most = MostInAllRegions(spec.placement());
  const uint32_t found = spec.scaling().max_replicas();
  if (found >= least && found <= most) return;
  problems->Add("scaling.max_replicas", absl::StrCat(found),
                absl::StrCat(least, " (replication.replicas) to ", most,
                             most < kMostReplicas ? " (placement.regions)" : ""));
}

}  // namespace

ScalingRules ScalingOf(const v1::AppSpec& spec) {
  ScalingRules rules;
  rules.least = std::max(1U, spec.replication().replicas());
  rules.most = rules.least;
  if (!spec.has_scaling()) return rules;
  const v1::ScalingPolicy& policy = spec.scaling();
  rules.on = true;
  rules.recommend = policy.mode() == v1::ScalingPolicy::RECOMMEND;
  while (spec.metrics(static_cast<int>(rules.metric)).name() != policy.metric()) ++rules.metric;
  rules.target = policy.target();
  rules.metric_name = policy.metric();
  rules.upper = policy.target() * (1 + policy.tolerance());
  rules.lower = policy.target() * (1 - policy.tolerance());
  rules.most = policy.max_replicas();
  rules.down_after = Milliseconds(policy.down_after_ms());
  rules.changes_per_minute =
      ParseCountOrPercent(policy.max_changes_per_minute()).value_or(CountOrPercent{10, true});
  return rules;
}

void CheckScaling(const v1::AppSpec& spec, SpecProblems* problems) {
  if (!spec.has_scaling()) return;
  const v1::ScalingPolicy& policy = spec.scaling();
  problems->CheckKnown("scaling", policy);
  CheckStrategy(spec.replication(), problems);
  CheckMetric(spec, problems);
  CheckMost(spec, problems);
  // Written so that NaN, which compares with nothing, is refused.
  if (!(policy.target() > 0 && policy.target() <= kMostTarget)) {
    problems->Add("scaling.target", absl::StrFormat("%g", policy.target()),
                  "above 0, at most 1e12");
  }
  if (!(policy.tolerance() >= 0 && policy.tolerance() <= 0.9)) {
    problems->Add("scaling.tolerance", absl::StrFormat("%g", policy.tolerance()),
                  "0 to 0.9; 0 is the default");
  }
  if (!v1::ScalingPolicy::Mode_IsValid(policy.mode())) {
    problems->Add("scaling.mode", absl::StrCat(static_cast<int>(policy.mode())),
                  EnumLabels(*v1::ScalingPolicy::Mode_descriptor()));
  }
  const uint32_t down = policy.down_after_ms();
  if (down != 0 && (down < kLeastDownAfterMs || down > kMostDownAfterMs)) {
    problems->Add("scaling.down_after_ms", absl::StrCat(down),
                  absl::StrCat(kLeastDownAfterMs, " to ", kMostDownAfterMs, ", or 0: the default"));
  }
  CheckCountOrPercent("scaling.max_changes_per_minute", policy.max_changes_per_minute(),
                      /*required=*/false, problems);
}

}  // namespace shardmanager
