// A session with ZooKeeper for a command that waits for its answers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "coordination/access/store_access.h"
#include "coordination/store.h"

namespace shardmanager::cli {

class StoreSession {
 public:
  // UNAVAILABLE: ZooKeeper does not answer within `patience`.
  static absl::StatusOr<std::unique_ptr<StoreSession>> Open(const std::string& zookeeper,
                                                            std::shared_ptr<StoreAccess> access,
                                                            std::chrono::milliseconds patience);

  CoordinationStore& store() { return *store_; }

  // Calls ask(done) and waits until done(result) was called on the session's thread.
  template <typename Result, typename Ask>
  Result Await(Ask ask) {
    std::optional<Result> result;
    ask([&](Result answer) {
      std::lock_guard lock(mutex_);
      result = std::move(answer);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return result.has_value(); });
    return *std::move(result);
  }

 private:
  StoreSession() = default;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  // Last: its thread uses the others.
  std::unique_ptr<CoordinationStore> store_;
};

}  // namespace shardmanager::cli
