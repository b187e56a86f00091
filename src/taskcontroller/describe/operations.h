// Operations as operators see them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/report_book.h"

namespace shardmanager::taskcontroller {

// All that are reported or held, ascending; `id`: only those of that id, unless it is empty.
// `answers`: the newest one to each that is reported. The app's name is left out.
std::vector<v1::OperationStatus> DescribeOperations(
    const HeldOperations& held, const ReportBook& reports,
    const std::map<OperationKey, v1::OperationAnswer>& answers, const std::string& id,
    TimePoint now);

}  // namespace shardmanager::taskcontroller
