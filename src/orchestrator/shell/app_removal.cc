#include "orchestrator/shell/app_removal.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "coordination/election.h"
#include "orchestrator/shell/bulk_read.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kTryAgainAfter = Milliseconds(500);
// Deletes in one multi: paths are short, so this stays far below its size limit.
constexpr size_t kDeletesPerWrite = 1'000;

}  // namespace

void AppRemoval::Begin() {
  // Not every app has a record of container operations.
  const std::string operations = options_.paths.operations(options_.app);
  options_.store->Get(operations, [this, post = options_.post, operations](auto node) {
    post([this, operations, status = node.status()] {
      if (!status.ok() && !absl::IsNotFound(status)) return TryLater(status);
      ListAssignments(status.ok() ? std::vector<WriteOp>{DeleteNode{operations}}
                                  : std::vector<WriteOp>());
    });
  });
}

void AppRemoval::ListAssignments(std::vector<WriteOp> ops) {
  std::vector<std::string> folders;
  for (uint32_t b = 0; b < options_.buckets; ++b) {
    folders.push_back(Paths::bucket(options_.paths.assignments(options_.app), b));
  }
  ListAll(*options_.store, std::move(folders),
          [this, post = options_.post, ops = std::move(ops)](auto paths) {
            post([this, paths = std::move(paths), ops]() mutable {
              if (!paths.ok()) return TryLater(paths.status());
              for (const std::string& path : *paths) ops.push_back(DeleteNode{path});
              ops.push_back(DeleteNode{options_.paths.spec(options_.app)});
              Delete(std::move(ops), 0);
            });
          });
}

void AppRemoval::Delete(std::vector<WriteOp> ops, size_t from) {
  std::vector<WriteOp> some;
  some.push_back(LeaderFence(options_.paths, options_.leader_epoch));
  const size_t end = std::min(ops.size(), from + kDeletesPerWrite);
  some.insert(some.end(), ops.begin() + static_cast<std::ptrdiff_t>(from),
              ops.begin() + static_cast<std::ptrdiff_t>(end));
  options_.store->Multi(std::move(some), [this, post = options_.post, ops = std::move(ops),
                                          end](const WriteResult& result) {
    post([this, ops, end, status = result.status] {
      if (!status.ok()) return TryLater(status);
      if (end < ops.size()) return Delete(ops, end);
      spdlog::info("app {}: deleted", options_.app.value());
      deleted_();
    });
  });
}

// What is there is listed anew: some of it may have gone.
void AppRemoval::TryLater(const absl::Status& why) {
  spdlog::warn("app {}: its records could not be deleted, trying again: {}", options_.app.value(),
               why.ToString());
  executor_.PostAt(executor_.Now() + kTryAgainAfter, [this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) Begin();
  });
}

}  // namespace shardmanager::orchestrator
