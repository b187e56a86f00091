// Answers to reports, in words for people and names for programs.
#pragma once

#include <string>

#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/decide/decision.h"
#include "taskcontroller/decide/delay.h"
#include "taskcontroller/state/fleet_view.h"

namespace shardmanager::taskcontroller {

v1::OperationDelay Describe(const Delay& delay, const FleetView& view);

// `info`: of the operation. `use_within`: how long an approval is still held.
v1::OperationAnswer DescribeAnswer(const std::string& id, const OperationInfo& info,
                                   const Outcome& outcome, Duration use_within,
                                   const FleetView& view);

}  // namespace shardmanager::taskcontroller
