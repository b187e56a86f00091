// Whether shardmanagerd lives and is ready, for those who start and watch it (/healthz, /readyz).
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "runtime/metrics_server.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::daemon {

// Thread-safe. Asks the control thread, one question at a time, and waits at most 1 s for the
// answer, so that questions do not pile up behind a thread that is busy.
class ControlHealth {
 public:
  using Reply = std::function<void(absl::StatusOr<v1::GetStatusResponse>)>;
  // As orchestrator::Operations::GetStatus: returns at once, replies on the control thread.
  using Question = std::function<void(Reply)>;

  // A thread that has not answered for `most_silence` counts as dead. (A takeover of many apps may
  // keep it busy for seconds.)
  explicit ControlHealth(Duration most_silence = Seconds(30));

  // From now on, asks this; until then the process lives and is not ready.
  void Watch(Question question);
  // The process stops: it lives and is not ready.
  void Forget();

  // For MetricsServer; this must outlive it.
  Health health();

  // OK unless the control thread has left a question unanswered for `most_silence`.
  absl::Status Lives();
  // OK: this process leads and can prove it, or stands by and knows the leader; and ZooKeeper
  // answers.
  absl::Status Ready();

 private:
  struct Asked;
  // Whether the answer has come in time.
  bool Ask();

  const Duration most_silence_;
  std::shared_ptr<Asked> asked_;  // shared with answers that come late
};

}  // namespace shardmanager::daemon
