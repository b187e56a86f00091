// The record of an app's container operations in the coordination store.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordination/paths.h"
#include "coordination/store.h"
#include "shardmanager/types.h"
#include "taskcontroller/state/operation.h"

namespace shardmanager::taskcontroller {

// On one thread. One write at a time. Every write checks the leader epoch.
class OperationStore {
 public:
  // Runs a task later on the owner's thread, or never if the owner has gone.
  using PostFn = std::function<void(std::function<void()>)>;
  struct Context {
    CoordinationStore* store;
    Paths paths;
    AppName app;
    LeaderEpoch leader_epoch;
    PostFn post;
  };
  explicit OperationStore(Context context) : context_(std::move(context)) {}

  // UNAVAILABLE: the store does not answer. DATA_LOSS, UNIMPLEMENTED: the record cannot be read
  // (see coordination/envelope.h). No record: no operations.
  void Read(std::function<void(absl::StatusOr<HeldOperations>)> done);

  // OK: it is durable. FAILED_PRECONDITION: another process leads. Others: it may be stored or not;
  // a later write replaces it in any case.
  void Write(const HeldOperations& held, std::function<void(absl::Status)> done);

 private:
  std::string path() const { return context_.paths.operations(context_.app); }
  absl::Status OnWritten(const WriteResult& result);

  const Context context_;
  bool exists_ = false;  // as far as is known
};

}  // namespace shardmanager::taskcontroller
