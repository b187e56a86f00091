#include "taskcontroller/state/report_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::taskcontroller {
namespace {

constexpr Duration kForgotten = Seconds(3'600);

}  // namespace

absl::Status ReportBook::Take(Report report, TimePoint now) {
  auto found = managers_.find(report.manager);
  if (found == managers_.end()) {
    if (managers_.size() >= kMostManagers) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "manager: found a new one, \"", report.manager, "\"; allowed: ", kMostManagers,
          " managers for one app, and so many have reported within the last hour"));
    }
    found = managers_.emplace(std::move(report.manager), Manager()).first;
  }
  Manager& manager = found->second;
  const auto version = std::tuple(report.manager_life, report.sequence);
  if (version <= std::tuple(manager.life, manager.sequence)) {
    return absl::AbortedError(absl::StrCat(
        "this report has manager_life ", report.manager_life, " and sequence ", report.sequence,
        "; a newer one was taken, with ", manager.life, " and ", manager.sequence));
  }
  std::map<std::string, WantedOperation> operations;
  for (ReportedOperation& reported : report.operations) {
    const auto before = manager.operations.find(reported.id);
    const bool known = before != manager.operations.end();
    const TimePoint wanted = now - reported.pending;
    WantedOperation& operation = operations[reported.id];
    operation.since = known ? before->second.since : wanted;
    operation.alone = known && before->second.alone;
    if (reported.deadline) operation.deadline = now + *reported.deadline;
    operation.reported = std::move(reported);
  }
  std::tie(manager.life, manager.sequence) = version;
  manager.heard_at = now;
  manager.operations = std::move(operations);
  return absl::OkStatus();
}

void ReportBook::Requeue(const OperationKey& key, bool stalled, TimePoint now) {
  const auto manager = managers_.find(key.manager);
  if (manager == managers_.end()) return;
  const auto operation = manager->second.operations.find(key.id);
  if (operation == manager->second.operations.end()) return;
  operation->second.since = now;
  operation->second.alone |= stalled;
}

void ReportBook::Forget(const HeldOperations& held, TimePoint now) {
  std::erase_if(managers_, [&](const auto& entry) {
    const auto of_it = held.lower_bound({entry.first, ""});
    const bool holds = of_it != held.end() && of_it->first.manager == entry.first;
    return !holds && now - entry.second.heard_at > kForgotten;
  });
}

const Manager* ReportBook::Find(const std::string& manager) const {
  const auto found = managers_.find(manager);
  return found == managers_.end() ? nullptr : &found->second;
}

const WantedOperation* ReportBook::Find(const OperationKey& key) const {
  const Manager* manager = Find(key.manager);
  if (manager == nullptr) return nullptr;
  const auto found = manager->operations.find(key.id);
  return found == manager->operations.end() ? nullptr : &found->second;
}

bool ReportBook::IsSilent(const std::string& manager, TimePoint now) const {
  const Manager* found = Find(manager);
  return found == nullptr || now - found->heard_at > kSilent;
}

}  // namespace shardmanager::taskcontroller
