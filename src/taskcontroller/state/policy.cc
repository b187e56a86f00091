#include "taskcontroller/state/policy.h"

#include "model/replication_rules.h"
#include "model/spec/availability.h"

namespace shardmanager::taskcontroller {
Policy::Policy(const v1::AppSpec& spec)
    : leaving_(spec),
      primaries_turn_(RulesOf(spec).both_roles()),
      quorum_(spec.replication().quorum()),
      most_servers_(ParseCountOrPercent(spec.availability().max_unavailable_servers())
                        .value_or(CountOrPercent{})),
      most_replicas_(spec.availability().max_unavailable_replicas()),
      approval_(Milliseconds(spec.availability().approval_ms())),
      most_wait_(Milliseconds(spec.availability().most_wait_ms())) {}

uint32_t Policy::MostServersAway(uint32_t servers) const { return most_servers_.Of(servers); }

uint32_t Policy::MostReplicasAway(uint32_t replicas) const {
  return MostUnavailable(most_replicas_, replicas, quorum_);
}

}  // namespace shardmanager::taskcontroller
