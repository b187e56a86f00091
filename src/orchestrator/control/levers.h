// What operators do by hand about one shard, or one server, and what is stored of it is only what
// follows (admin.proto).
#pragma once

#include "orchestrator/control/led_apps.h"
#include "orchestrator/control/led_thread.h"
#include "runtime/executor.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// As Operations, also in what is answered.
class Levers {
 public:
  template <typename T>
  using Reply = LedThread::Reply<T>;

  // All must outlive it.
  struct Context {
    LedApps& apps;
    Executor& executor;
    Executor& solver;
  };
  Levers(Context context, LedThread thread) : context_(context), thread_(thread) {}

  // NOT_FOUND: no such app or shard. Nothing is stored: another leader begins without failures.
  void RetryShard(v1::RetryShardRequest request, Reply<v1::RetryShardResponse> reply,
                  Wanted wanted = {});
  // It may wait for a plan that is being made, as ExplainShard.
  void MoveShard(v1::MoveShardRequest request, Reply<v1::MoveShardResponse> reply,
                 Wanted wanted = {});
  void LiftQuarantine(v1::LiftQuarantineRequest request, Reply<v1::LiftQuarantineResponse> reply,
                      Wanted wanted = {});
  // Not answered if this process loses its lead meanwhile: callers need a deadline.
  void ForgetServer(v1::ForgetServerRequest request, Reply<v1::ForgetServerResponse> reply,
                    Wanted wanted = {});

 private:
  const Context context_;
  const LedThread thread_;
};

}  // namespace shardmanager::orchestrator
