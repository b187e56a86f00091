// What follows from operations for the servers.
#pragma once

#include <vector>

#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"
#include "taskcontroller/state/report_book.h"
#include "taskcontroller/state/task_io.h"

namespace shardmanager::taskcontroller {

// Ascending by server. `held` and `next`: what is stored, and what is being written; what follows
// from either holds. REQUIRES of `held` and `next`: at most one operation of each server.
std::vector<ServerOrder> OrdersOf(const HeldOperations& held, const HeldOperations& next,
                                  const ReportBook& reports, TimePoint now);

}  // namespace shardmanager::taskcontroller
