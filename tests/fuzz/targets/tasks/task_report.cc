// Reports of cluster managers, from anybody who reaches the port: taken as they are, or refused
// with what is wrong; and what is stored of them comes back.
#include "taskcontroller/state/stored_operations.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::taskcontroller {

SM_FUZZ_TARGET(task_report) {
  v1::ReportRequest request;
  if (!request.ParseFromString(std::string(input.Rest()))) return;
  const absl::StatusOr<Report> report = ParseReport(request);
  if (!report.ok()) {
    SM_CHECK(absl::IsInvalidArgument(report.status()), "a wrong report is said to be wrong");
    SM_CHECK(!report.status().message().empty(), "and what is wrong with it");
    return;
  }
  SM_CHECK(report->operations.size() == static_cast<size_t>(request.operations_size()),
           "a report is taken whole");
  HeldOperations held;
  for (const ReportedOperation& operation : report->operations) {
    held[{report->manager, operation.id}].info = operation.info;
  }
  const auto back = FromProto(ToProto(held));
  SM_CHECK(back.ok() && back->size() == held.size(), "what was stored is read");
  for (const auto& [key, operation] : held) {
    SM_CHECK(back->at(key).SameRecord(operation), "as it was stored");
  }
}

}  // namespace shardmanager::taskcontroller
