#include "model/spec/demand.h"

#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr uint32_t kLeastAfterMs = 1'000;
constexpr uint32_t kMostAfterMs = 86'400'000;

}  // namespace

DemandRules DemandOf(const v1::AppSpec& spec) {
  if (!spec.placement().has_follow_demand()) return {};
  const v1::DemandPolicy& policy = spec.placement().follow_demand();
  return {.on = true,
          .recommend = policy.mode() == v1::DemandPolicy::RECOMMEND,
          .after = Milliseconds(policy.after_ms())};
}

void CheckDemand(const v1::PlacementPolicy& placement, SpecProblems* problems) {
  if (!placement.has_follow_demand()) return;
  const v1::DemandPolicy& policy = placement.follow_demand();
  problems->CheckKnown("placement.follow_demand", policy);
  if (!placement.region_replicas().empty()) {
    problems->Add("placement.follow_demand", "a value, with placement.region_replicas",
                  "one of the two: both say where replicas are to stand");
  }
  if (!v1::DemandPolicy::Mode_IsValid(policy.mode())) {
    problems->Add("placement.follow_demand.mode", absl::StrCat(static_cast<int>(policy.mode())),
                  EnumLabels(*v1::DemandPolicy::Mode_descriptor()));
  }
  problems->CheckBounds("placement.follow_demand.after_ms", policy.after_ms(),
                        {kLeastAfterMs, kMostAfterMs, true});
}

}  // namespace shardmanager
