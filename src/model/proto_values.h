// The model's enums and their values in protos: the one place that knows both.
#pragma once

#include "model/replica_phase.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

inline v1::Role ToProto(Role role) { return role == Role::kPrimary ? v1::PRIMARY : v1::SECONDARY; }
// Only who says so is the primary: an unset role, or one of a newer version, is none.
inline Role FromProto(v1::Role role) {
  return role == v1::PRIMARY ? Role::kPrimary : Role::kSecondary;
}

// PHASE_UNSPECIFIED: absent, which is never stored.
inline v1::Phase ToProto(Phase phase) {
  switch (phase) {
    case Phase::kReserved:
      return v1::RESERVED;
    case Phase::kGranted:
      return v1::GRANTED;
    case Phase::kPreparing:
      return v1::PREPARING;
    case Phase::kForwarding:
      return v1::FORWARDING;
    case Phase::kDropping:
      return v1::DROPPING;
    case Phase::kDemoting:
      return v1::DEMOTING;
    case Phase::kAbsent:
      break;
  }
  return v1::PHASE_UNSPECIFIED;
}
inline Phase FromProto(v1::Phase phase) {
  switch (phase) {
    case v1::RESERVED:
      return Phase::kReserved;
    case v1::GRANTED:
      return Phase::kGranted;
    case v1::DROPPING:
      return Phase::kDropping;
    case v1::PREPARING:
      return Phase::kPreparing;
    case v1::FORWARDING:
      return Phase::kForwarding;
    case v1::DEMOTING:
      return Phase::kDemoting;
    default:
      return Phase::kAbsent;
  }
}

}  // namespace shardmanager
