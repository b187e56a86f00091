// Rollouts as operators see them.
#pragma once

#include <map>
#include <vector>

#include "base/time.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/report_book.h"
#include "taskcontroller/state/rollout_book.h"

namespace shardmanager::taskcontroller {

// All of which something is reported or held, or was in the last hour; ascending. `answers`: the
// newest one to each operation that is reported. The app's name is left out.
std::vector<v1::RolloutStatus> DescribeRollouts(
    const HeldOperations& held, const ReportBook& reports,
    const std::map<OperationKey, v1::OperationAnswer>& answers, const RolloutBook& book,
    TimePoint now);

}  // namespace shardmanager::taskcontroller
