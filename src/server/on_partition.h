// What a server does once its lease has lapsed: failover.on_partition of the spec.
#pragma once

#include <cstdint>

#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

enum class OnPartition : uint8_t { kStopPrimaries, kStopAll, kKeepServing };

// Unset: the default.
inline OnPartition FromProto(v1::OnPartition policy) {
  switch (policy) {
    case v1::STOP_ALL:
      return OnPartition::kStopAll;
    case v1::KEEP_SERVING:
      return OnPartition::kKeepServing;
    default:
      return OnPartition::kStopPrimaries;
  }
}

}  // namespace shardmanager
