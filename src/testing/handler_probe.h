// What stands between the library and an application's handler in a test: it writes down what
// is called, answers with errors that were asked for, and stops calls on their way.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "shardmanager/testing.h"

namespace shardmanager::testing_internal {

// Shared by the test's HeldCall and the calls that wait.
struct HeldCallState {
  explicit HeldCallState(std::chrono::milliseconds longest) : patience(longest) {}

  const std::chrono::milliseconds patience;
  std::mutex mutex;
  std::condition_variable changed;
  bool arrived = false;
  bool released = false;
};

// The faults and the calls of one server name, over all its lives. Thread-safe.
class HandlerFaults {
 public:
  void FailNext(HandlerMethod method, absl::Status error);
  void Hold(HandlerMethod method, std::shared_ptr<HeldCallState> held);
  std::vector<std::string> calls() const;

  // Of a call that begins, described by `call`: waits while it is held. Not OK: the answer.
  absl::Status Begin(HandlerMethod method, std::string call);
  // Lets everything go that is held.
  void ReleaseAll();

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::map<HandlerMethod, std::deque<absl::Status>> errors_;
  std::map<HandlerMethod, std::vector<std::shared_ptr<HeldCallState>>> holds_;
};

class HandlerProbe final : public ShardHandler {
 public:
  // `handler` must outlive it.
  HandlerProbe(ShardHandler& handler, std::shared_ptr<HandlerFaults> faults)
      : handler_(handler), faults_(std::move(faults)) {}

  absl::Status AddShard(const ShardGrant& grant, const LoadProgress& progress) override;
  absl::Status DropShard(const ShardId& shard) override;
  absl::Status PrepareAddShard(const ShardGrant& grant) override;
  absl::Status PrepareDropShard(const ShardId& shard) override;
  absl::Status ChangeRole(const ShardGrant& grant) override;
  absl::Status UpdateMembership(const ShardId& shard, const Members& members) override;
  std::map<std::string, double> CollectLoad(const ShardId& shard) override {
    return handler_.CollectLoad(shard);
  }
  absl::Status PrepareReshape(const Reshape& reshape) override {
    return handler_.PrepareReshape(reshape);
  }
  std::map<std::string, double> CollectCapacity() override { return handler_.CollectCapacity(); }

 private:
  ShardHandler& handler_;
  const std::shared_ptr<HandlerFaults> faults_;
};

}  // namespace shardmanager::testing_internal
