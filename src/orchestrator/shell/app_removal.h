// Deletes the records of an app that nobody serves any more.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "orchestrator/shell/batch_writer.h"
#include "runtime/executor.h"

namespace shardmanager::orchestrator {

// The assignments first, the spec last: while it is there, a successor goes on here. Registrations
// stay: they count the lives of servers that may still run. On the driver's thread.
class AppRemoval {
 public:
  // `deleted`: the spec, too. The executor must outlive it.
  AppRemoval(WriterOptions options, Executor& executor, std::function<void()> deleted)
      : options_(std::move(options)), executor_(executor), deleted_(std::move(deleted)) {}

  // Tries again while the store is out of reach.
  void Begin();

 private:
  void ListAssignments(std::vector<WriteOp> ops);
  void Delete(std::vector<WriteOp> ops, size_t from);
  void TryLater(const absl::Status& why);

  const WriterOptions options_;
  Executor& executor_;
  const std::function<void()> deleted_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace shardmanager::orchestrator
