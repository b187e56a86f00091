// Operations as they are stored, and reports as they are sent.
#pragma once

#include "absl/status/statusor.h"
#include "shardmanager/v1/stored.pb.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/state/operation.h"

namespace shardmanager::taskcontroller {

v1::StoredOperations ToProto(const HeldOperations& held);
// UNIMPLEMENTED: a stage or kind that a newer version knows. DATA_LOSS: an operation without one.
absl::StatusOr<HeldOperations> FromProto(const v1::StoredOperations& stored);

// INVALID_ARGUMENT: one line for each wrong field, by the rules written in task_control.proto.
absl::StatusOr<Report> ParseReport(const v1::ReportRequest& request);

}  // namespace shardmanager::taskcontroller
