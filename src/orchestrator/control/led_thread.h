// Where what operators ask is done: on the controller's thread, while this process leads.
#pragma once

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/leadership.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/shell/change_outcome.h"
#include "runtime/executor.h"

namespace shardmanager::orchestrator {

// Thread-safe, but for what is said otherwise.
class LedThread {
 public:
  template <typename T>
  using Reply = std::function<void(absl::StatusOr<T>)>;

  // All must outlive it.
  struct Context {
    CellSession& session;
    Leadership& leadership;
    LedApps& apps;
    Executor& executor;
  };
  explicit LedThread(Context context) : context_(context) {}

  // OK: this process leads and can prove it. Else as Operations says. On the thread only.
  absl::Status MayAnswer() const;
  // OK: MayAnswer(), somebody still waits for the answer, and the store is connected. On the thread
  // only.
  absl::Status MayChange(const Wanted& wanted) const;

  // Runs `work` on the thread if MayAnswer().
  template <typename T>
  void ToAnswer(const Reply<T>& reply, std::function<void()> work) const {
    context_.executor.Post([this, reply, work = std::move(work)] {
      if (absl::Status may = MayAnswer(); !may.ok()) return reply(may);
      work();
    });
  }
  // The same for a change. While the lease cannot be proved it waits for the next renewal, at most
  // kHoldChanges: the operator who asks for it is waiting, too.
  template <typename T>
  void ToChange(const Reply<T>& reply, const Wanted& wanted, std::function<void()> work) const {
    context_.executor.Post([this, reply, wanted, work = std::move(work)] {
      context_.leadership.OnceInTouch(context_.executor.Now() + kHoldChanges,
                                      [this, reply, wanted, work] {
                                        if (absl::Status may = MayChange(wanted); !may.ok())
                                          return reply(may);
                                        work();
                                      });
    });
  }

 private:
  static constexpr Duration kHoldChanges = Seconds(2);

  const Context context_;
};

}  // namespace shardmanager::orchestrator
