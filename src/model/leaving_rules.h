// What leaves a server before it is stopped as planned: the rules written on DrainPolicy in
// app_spec.proto.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/server_order.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

class LeavingRules {
 public:
  LeavingRules() = default;
  // REQUIRES: valid, with its defaults (model/spec/spec_validation.h).
  explicit LeavingRules(const v1::AppSpec& spec);

  // Before a container operation of that kind, which takes so long.
  Leaving Before(v1::OperationKind kind, Duration length) const;
  // Before a maintenance of that impact.
  Leaving Before(v1::MaintenanceImpact impact, Duration length) const;
  // All replicas leave, and not only the role of primary.
  bool Empties(const Leaving& leaving) const {
    return has_secondaries_ ? leaving.secondaries : leaving.primaries;
  }
  // How long before a maintenance that begins.
  Duration prepare() const { return Milliseconds(policy_.prepare_ms()); }

 private:
  Leaving Apply(const v1::DrainRule* rule, bool all_leave) const;

  v1::DrainPolicy policy_;
  bool has_secondaries_ = false;
  bool none_may_be_away_ = false;  // of a shard's replicas
};

}  // namespace shardmanager
