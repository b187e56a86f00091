#include "taskcontroller/shell/operation_store.h"

#include <utility>
#include <vector>

#include "coordination/election.h"
#include "coordination/envelope.h"
#include "taskcontroller/state/stored_operations.h"

namespace shardmanager::taskcontroller {

void OperationStore::Read(std::function<void(absl::StatusOr<HeldOperations>)> done) {
  context_.store->Get(path(), [this, post = context_.post, done](absl::StatusOr<Node> node) {
    post([this, done, node = std::move(node)] {
      exists_ = node.ok();
      if (absl::IsNotFound(node.status())) return done(HeldOperations());
      if (!node.ok()) return done(node.status());
      v1::StoredOperations stored;
      if (absl::Status status = Open(node->data, &stored); !status.ok()) return done(status);
      done(FromProto(stored));
    });
  });
}

void OperationStore::Write(const HeldOperations& held, std::function<void(absl::Status)> done) {
  std::string data = Seal(ToProto(held));
  std::vector<WriteOp> ops;
  ops.push_back(LeaderFence(context_.paths, context_.leader_epoch));
  if (exists_) {
    ops.push_back(SetNode{path(), std::move(data)});
  } else {
    ops.push_back(CreateNode{path(), std::move(data)});
  }
  context_.store->Multi(std::move(ops),
                        [this, post = context_.post, done](const WriteResult& result) {
                          post([this, done, result] { done(OnWritten(result)); });
                        });
}

absl::Status OperationStore::OnWritten(const WriteResult& result) {
  if (result.status.ok()) exists_ = true;
  if (absl::IsNotFound(result.status)) exists_ = false;  // somebody has removed it
  // What an earlier write did, whose answer was lost.
  if (absl::IsAlreadyExists(result.status)) exists_ = true;
  return result.status;  // (only the fence can fail a precondition)
}

}  // namespace shardmanager::taskcontroller
