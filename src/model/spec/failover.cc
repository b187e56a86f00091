#include "model/spec/failover.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_names.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr uint32_t kMostFailovers = 100'000;

// With a quorum an app relies on one primary: what it answers is what most of the members know.
void CheckOnPartition(const v1::AppSpec& spec, SpecProblems* problems) {
  const v1::OnPartition on_partition = spec.failover().on_partition();
  const std::string path = "failover.on_partition";
  const bool quorum = spec.replication().quorum();
  std::string allowed = absl::StrCat(EnumLabel(v1::STOP_PRIMARIES), ", ", EnumLabel(v1::STOP_ALL));
  switch (on_partition) {
    case v1::ON_PARTITION_UNSPECIFIED:
    case v1::STOP_PRIMARIES:
    case v1::STOP_ALL:
      return;
    case v1::KEEP_SERVING:
      if (!quorum) return;
      return problems->Add(path, absl::StrCat(EnumLabel(on_partition), ", with replication.quorum"),
                           std::move(allowed));
    default:
      if (!quorum) absl::StrAppend(&allowed, ", ", EnumLabel(v1::KEEP_SERVING));
      return problems->Add(path, EnumLabel(on_partition), std::move(allowed));
  }
}

void CheckMassFailure(const v1::MassFailurePolicy& policy, SpecProblems* problems) {
  const std::string path = "failover.mass_failure";
  problems->CheckKnown(path, policy);
  CheckCountOrPercent(path + ".servers", policy.servers(), /*required=*/true, problems);
  problems->CheckBounds(path + ".max_concurrent", policy.max_concurrent(),
                        {1, kMostFailovers, true});
  problems->CheckBounds(path + ".patience_ms", policy.patience_ms(), {1, kWeekMs, true});
}

}  // namespace

MassFailureRules MassFailureOf(const v1::FailoverPolicy& failover) {
  if (!failover.has_mass_failure()) return {};
  const v1::MassFailurePolicy& policy = failover.mass_failure();
  return {.on = true,
          .servers = ParseCountOrPercent(policy.servers()).value_or(CountOrPercent{100, true}),
          .max_concurrent = policy.max_concurrent(),
          .patience = Milliseconds(policy.patience_ms())};
}

void CheckFailover(const v1::AppSpec& spec, SpecProblems* problems) {
  const v1::FailoverPolicy& failover = spec.failover();
  problems->CheckKnown("failover", failover);
  problems->CheckBounds("failover.delay_ms", failover.delay_ms(), {0, kHourMs});
  CheckOnPartition(spec, problems);
  if (failover.has_mass_failure()) CheckMassFailure(failover.mass_failure(), problems);
  const KnownRegions regions(spec.placement());
  regions.CheckList("failover.region_order", failover.region_order(), problems);
}

}  // namespace shardmanager
