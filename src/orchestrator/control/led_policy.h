// What was granted to whom, while this process leads: read when it takes over, and changed by it
// alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/leadership.h"
#include "orchestrator/shell/change_outcome.h"
#include "orchestrator/shell/event_log.h"
#include "runtime/executor.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/access.pb.h"

namespace shardmanager::orchestrator {

// The policy of the cell (stored.proto). Runs on the executor's thread, where replies come, too.
class LedPolicy {
 public:
  template <typename T>
  using Reply = std::function<void(absl::StatusOr<T>)>;
  using Policy = std::shared_ptr<const v1::StoredPolicy>;

  // All must outlive it.
  struct Context {
    CellSession& session;
    Leadership& leadership;
    Executor& executor;
    EventLog& events;
  };
  explicit LedPolicy(Context context);

  void Begin(LeaderEpoch epoch);
  void End();

  // Thread-safe. FAILED_PRECONDITION: this process does not lead. UNAVAILABLE: it reads the record.
  // DATA_LOSS: the record cannot be read; then nothing counts as granted.
  absl::StatusOr<Policy> Known() const;

  // Of access.proto; thread-safe. `who` of a request: who asks for it. Errors also: those of
  // changes in Operations, and of Known().
  void Grant(v1::GrantRequest request, Reply<v1::GrantResponse> reply, Wanted wanted = {});
  void Revoke(v1::RevokeRequest request, Reply<v1::RevokeResponse> reply, Wanted wanted = {});
  void GetPolicy(v1::GetPolicyRequest request, Reply<v1::GetPolicyResponse> reply);

 private:
  struct Lead {
    LeaderEpoch epoch;
    int32_t version = kAbsent;  // of the record
  };
  static constexpr int32_t kAbsent = -1;

  void Read();
  void OnRead(const absl::StatusOr<Node>& node);
  void Know(absl::StatusOr<Policy> known);
  // OK: this process leads, can prove it, and knows the policy.
  absl::Status MayAnswer() const;
  absl::Status MayChange(const Wanted& wanted) const;
  // Runs `work` once the lease can be proved, or answers why not.
  void ToChange(std::function<void(absl::Status)> fail, Wanted wanted, std::function<void()> work);
  void Write(const v1::StoredPolicy& policy, std::function<void(absl::Status)> done);
  bool IsOf(uint64_t session, LeaderEpoch epoch) const;

  const Context context_;
  std::optional<Lead> lead_;
  mutable std::mutex mutex_;
  absl::StatusOr<Policy> known_;
};

}  // namespace shardmanager::orchestrator
