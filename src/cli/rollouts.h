// Rollouts, as tables and lines. Pure, like render.h.
#pragma once

#include <cstdint>
#include <string>

#include "cli/render.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// ROLLOUT MANAGER DONE UNDER-WAY WAITING FOR LEFT WHY; with APP when there are several; wide: KIND
// AT-ONCE MEAN PROGRESS SEEN-FOR, too.
std::string RolloutsTable(const v1::GetRolloutsResponse& response, Style style);

// How far one is, in a line without a line end.
// Example: "kv: rollout-42 of kube-eu: 12/40 done, 4 under way, 24 waiting; about 6m left".
std::string RolloutLine(const v1::RolloutStatus& rollout);

// The figures that say whether it has got on: not the times, which always change.
std::string RolloutFigures(const v1::RolloutStatus& rollout);

// Operations of it that are not over.
uint32_t OperationsLeft(const v1::RolloutStatus& rollout);

// A forecast, no more exact than it is: "5s", "45s", "6m", "1h25m".
std::string RoundedText(int64_t ms);

}  // namespace shardmanager::cli
