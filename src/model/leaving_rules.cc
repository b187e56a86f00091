#include "model/leaving_rules.h"

#include <algorithm>

#include "model/replication_rules.h"
#include "model/spec/availability.h"

namespace shardmanager {
namespace {

template <typename Values, typename Value>
bool Has(const Values& values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool LongEnough(const v1::DrainRule& rule, Duration length) {
  return rule.up_to_ms() == 0 || length <= Milliseconds(rule.up_to_ms());
}

bool ForAll(const v1::DrainRule& rule) { return rule.kinds().empty() && rule.impacts().empty(); }

// Null: none fits.
template <typename Fits>
const v1::DrainRule* FirstThat(const v1::DrainPolicy& policy, Fits fits) {
  const auto found = std::find_if(policy.rules().begin(), policy.rules().end(), fits);
  return found == policy.rules().end() ? nullptr : &*found;
}

}  // namespace

LeavingRules::LeavingRules(const v1::AppSpec& spec)
    : policy_(spec.drain()), has_secondaries_(RulesOf(spec).secondaries) {
  const uint32_t replicas = spec.replication().replicas();
  const uint32_t most = spec.availability().max_unavailable_replicas();
  none_may_be_away_ =
      replicas == 1 || MostUnavailable(most, replicas, spec.replication().quorum()) == 0;
}

Leaving LeavingRules::Before(v1::OperationKind kind, Duration length) const {
  return Apply(FirstThat(policy_,
                         [&](const v1::DrainRule& rule) {
                           return (ForAll(rule) || Has(rule.kinds(), kind)) &&
                                  LongEnough(rule, length);
                         }),
               kind == v1::STOP);
}

Leaving LeavingRules::Before(v1::MaintenanceImpact impact, Duration length) const {
  return Apply(FirstThat(policy_,
                         [&](const v1::DrainRule& rule) {
                           return (ForAll(rule) || Has(rule.impacts(), impact)) &&
                                  LongEnough(rule, length);
                         }),
               impact == v1::FULL_STATE_LOSS || impact == v1::MACHINE_LOSS);
}

Leaving LeavingRules::Apply(const v1::DrainRule* rule, bool all_leave) const {
  Leaving leaving{.primaries = true, .secondaries = all_leave || none_may_be_away_};
  if (policy_.has_primaries()) leaving.primaries = policy_.primaries();
  if (policy_.has_secondaries()) leaving.secondaries = policy_.secondaries();
  if (rule == nullptr) return leaving;
  if (rule->has_primaries()) leaving.primaries = rule->primaries();
  if (rule->has_secondaries()) leaving.secondaries = rule->secondaries();
  return leaving;
}

}  // namespace shardmanager
