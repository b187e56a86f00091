// What follows from operations for the servers.
#pragma once

#include <vector>

#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"
#include "taskcontroller/state/report_book.h"
#include "taskcontroller/state/task_io.h"

namespace shardmanager::taskcontroller {

// Ascending by server. `held` and `next`: what is stored, and what is being written; what follows
// from either holds, but for what has to leave servers because of new operations. That begins once
// the operations are stored, together with the end of those before: the servers that come back can
// take it then, and a replica that goes there does not have to move again. REQUIRES of `held` and
// `next`: at most one operation of each server.
std::vector<ServerOrder> OrdersOf(const HeldOperations& held, const HeldOperations& next,
                                  const ReportBook& reports, TimePoint now);

}  // namespace shardmanager::taskcontroller
