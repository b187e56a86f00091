// The client's end of a session with a MemoryEnsemble.
#pragma once

#include "coordination/memory/memory_ensemble.h"
#include "coordination/store.h"
#include "coordination/watch_table.h"

namespace shardmanager {

class MemorySession final : public CoordinationStore {
 public:
  MemorySession(MemoryEnsemble* ensemble, SessionNumber number, SessionOptions options)
      : ensemble_(ensemble), number_(number), options_(std::move(options)) {}
  ~MemorySession() override { Close(); }

  void Get(const std::string& path, NodeCallback done, Watch watch) override;
  void GetChildren(const std::string& path, ChildrenCallback done, Watch watch) override;
  void Multi(std::vector<WriteOp> ops, WriteCallback done) override;
  void Sync(StatusCallback done) override;
  void GetAccess(const std::string& path, AccessCallback done) override;
  void SetAccess(const std::string& path, AccessList list, StatusCallback done) override;
  StoreAccess* access() const override { return options_.access.get(); }

  SessionState state() const override { return state_; }
  std::chrono::milliseconds session_timeout() const override { return timeout_; }
  int64_t session_id() const override { return timeout_.count() == 0 ? 0 : number_; }

  void Close() override;

 private:
  friend class MemoryEnsemble;

  const MemoryActor& actor() const;
  // Delivered by the ensemble.
  void OnState(SessionState state);

  MemoryEnsemble* const ensemble_;
  const SessionNumber number_;
  const SessionOptions options_;
  SessionState state_ = SessionState::kConnecting;
  std::chrono::milliseconds timeout_{0};
  WatchTable watches_;
};

}  // namespace shardmanager
