// Why the last commands to a replica were in vain.
#pragma once

#include <string>

#include "base/time.h"
#include "orchestrator/partition_io.h"

namespace shardmanager::orchestrator {

struct Trouble {
  std::string error;  // of the last one
  CommandOutcome outcome = CommandOutcome::kFailed;
  TimePoint since;  // the first one
  TimePoint retry_at;
};

}  // namespace shardmanager::orchestrator
