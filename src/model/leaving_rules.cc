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

// The first rule that is for `value`, and for so long. `values`: those that a rule is for; of one
// that names neither kinds nor impacts, all. Null: none fits.
template <typename ValuesOf, typename Value>
const v1::DrainRule* FirstFor(const v1::DrainPolicy& policy, ValuesOf values, Value value,
                              Duration length) {
  const auto fits = [&](const v1::DrainRule& rule) {
    const bool for_all = rule.kinds().empty() && rule.impacts().empty();
    const bool short_enough = rule.up_to_ms() == 0 || length <= Milliseconds(rule.up_to_ms());
    return short_enough && (for_all || Has(values(rule), value));
  };
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
  const auto kinds = [](const v1::DrainRule& rule) -> const auto& { return rule.kinds(); };
  return Apply(FirstFor(policy_, kinds, kind, length), kind == v1::STOP);
}

Leaving LeavingRules::Before(v1::MaintenanceImpact impact, Duration length) const {
  const auto impacts = [](const v1::DrainRule& rule) -> const auto& { return rule.impacts(); };
  return Apply(FirstFor(policy_, impacts, impact, length),
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
