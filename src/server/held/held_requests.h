// Requests that are held without a thread that waits: each asks again when its turn has come, until
// it is decided, its time is over, or its client has gone.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "base/time.h"
#include "runtime/serial_executor.h"
#include "server/admission_table.h"
#include "server/handler_pool.h"
#include "shardmanager/server.h"

namespace shardmanager::server {

// Thread-safe. Starts its threads when something is held for the first time.
class HeldRequests {
 public:
  using Admitted = AdmissionTable::Admitted;
  // Asks the table.
  using Ask = std::function<Admitted()>;
  // Called once. `cancelled`: nobody waits for an answer any more.
  using Decided = std::function<void(Admitted admitted, bool cancelled)>;
  // Until when what is held so may wait, at most until `until`.
  using HeldUntil = std::function<TimePoint(const Admitted& held, TimePoint until)>;

  // At most `threads` requests are decided at once. `gates` must outlive this.
  HeldRequests(AdmissionTable& gates, HeldUntil held_until, int threads);
  ~HeldRequests();

  // Asks here, and again on threads of this while the request is held. `decided` is called here if
  // nothing is waited for, or by Cancel() of what this returns, else on a thread of this.
  std::shared_ptr<server_internal::Wait> Admit(Ask ask, Duration patience, Decided decided);

  // Waits until everything is decided: what is held still, as refused. REQUIRES: the table has
  // stopped to admit. Idempotent.
  void Finish();

 private:
  class Request;
  class Turn;

  // False: nothing waits any longer.
  bool Remember(const std::shared_ptr<Request>& request);
  void Forget(const std::shared_ptr<Request>& request);
  bool finishing();
  void At(TimePoint when, std::function<void()> task);

  AdmissionTable& gates_;
  const HeldUntil held_until_;
  HandlerPool threads_;
  std::mutex mutex_;
  std::set<std::shared_ptr<Request>> waiting_;
  std::unique_ptr<SerialExecutor> timer_;  // made when it is needed
  bool finishing_ = false;
};

}  // namespace shardmanager::server
