// What each cluster manager reported last.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "taskcontroller/state/operation.h"

namespace shardmanager::taskcontroller {

// A manager is to report this often, and more often while something of its own goes on.
inline constexpr Duration kReportAgain = Seconds(5);
inline constexpr Duration kReportSoon = Milliseconds(500);
// A manager that was not heard for so long gets no approvals.
inline constexpr Duration kSilent = 6 * kReportAgain;
inline constexpr size_t kMostManagers = 100;

struct WantedOperation {
  ReportedOperation reported;
  TimePoint since{};            // wanted since then
  TimePoint deadline = kNever;  // to begin
  // Its preparation stalled under this leader: it is prepared while no other operation is.
  bool alone = false;
};

struct Manager {
  uint64_t life = 0;
  uint64_t sequence = 0;
  TimePoint heard_at{};
  std::map<std::string, WantedOperation> operations;  // by id
};

class ReportBook {
 public:
  // ABORTED: the manager has sent a newer one. RESOURCE_EXHAUSTED: too many managers.
  absl::Status Take(Report report, TimePoint now);
  // An operation that had its turn stands at the end of the line again. `stalled`: what had to
  // leave its server did not; it is prepared alone from now on.
  void Requeue(const OperationKey& key, bool stalled, TimePoint now);
  // Managers that have been silent for an hour, and have nothing held, are forgotten.
  void Forget(const HeldOperations& held, TimePoint now);

  const std::map<std::string, Manager>& managers() const { return managers_; }
  // Calls f(OperationKey, const WantedOperation&) for each operation, ascending by key.
  template <typename F>
  void ForEach(F&& f) const {
    for (const auto& [name, manager] : managers_) {
      for (const auto& [id, wanted] : manager.operations) f(OperationKey{name, id}, wanted);
    }
  }
  // Null: the manager did not report to this leader.
  const Manager* Find(const std::string& manager) const;
  // Null: it is not in the manager's last report.
  const WantedOperation* Find(const OperationKey& key) const;
  bool IsSilent(const std::string& manager, TimePoint now) const;

 private:
  std::map<std::string, Manager> managers_;
};

}  // namespace shardmanager::taskcontroller
