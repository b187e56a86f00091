#include "taskcontroller/state/policy.h"

#include <algorithm>

#include "model/replication_rules.h"
#include "model/spec/availability.h"

namespace shardmanager::taskcontroller {
namespace {

bool Fits(const v1::DrainRule& rule, v1::OperationKind kind, Duration expected) {
  const bool kind_fits = rule.kinds().empty() || std::find(rule.kinds().begin(), rule.kinds().end(),
                                                           kind) != rule.kinds().end();
  return kind_fits && (rule.up_to_ms() == 0 || expected <= Milliseconds(rule.up_to_ms()));
}

}  // namespace

Policy::Policy(const v1::AppSpec& spec)
    : drain_(spec.drain()),
      primaries_turn_(RulesOf(spec).both_roles()),
      quorum_(spec.replication().quorum()),
      most_servers_(ParseCountOrPercent(spec.availability().max_unavailable_servers())
                        .value_or(CountOrPercent{})),
      most_replicas_(spec.availability().max_unavailable_replicas()),
      replicas_(spec.replication().replicas()),
      approval_(Milliseconds(spec.availability().approval_ms())),
      most_wait_(Milliseconds(spec.availability().most_wait_ms())) {}

Leaving Policy::WhatLeaves(v1::OperationKind kind, Duration expected) const {
  const auto rule = std::find_if(drain_.rules().begin(), drain_.rules().end(),
                                 [&](const auto& r) { return Fits(r, kind, expected); });
  Leaving leaving{
      .primaries = true,
      .secondaries = kind == v1::STOP || replicas_ == 1 || MostReplicasAway(replicas_) == 0};
  if (drain_.has_primaries()) leaving.primaries = drain_.primaries();
  if (drain_.has_secondaries()) leaving.secondaries = drain_.secondaries();
  if (rule == drain_.rules().end()) return leaving;
  if (rule->has_primaries()) leaving.primaries = rule->primaries();
  if (rule->has_secondaries()) leaving.secondaries = rule->secondaries();
  return leaving;
}

uint32_t Policy::MostServersAway(uint32_t servers) const { return most_servers_.Of(servers); }

uint32_t Policy::MostReplicasAway(uint32_t replicas) const {
  return MostUnavailable(most_replicas_, replicas, quorum_);
}

}  // namespace shardmanager::taskcontroller
