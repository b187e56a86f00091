// A store that passes everything on to another one: tests override what they want to see or change.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordination/store.h"

namespace shardmanager {

class PassingStore : public CoordinationStore {
 public:
  explicit PassingStore(std::unique_ptr<CoordinationStore> store) : store_(std::move(store)) {}

  void Get(const std::string& path, NodeCallback done, Watch watch) override {
    store_->Get(path, std::move(done), std::move(watch));
  }
  void GetChildren(const std::string& path, ChildrenCallback done, Watch watch) override {
    store_->GetChildren(path, std::move(done), std::move(watch));
  }
  void Multi(std::vector<WriteOp> ops, WriteCallback done) override {
    store_->Multi(std::move(ops), std::move(done));
  }
  void Sync(StatusCallback done) override { store_->Sync(std::move(done)); }
  void GetAccess(const std::string& path, AccessCallback done) override {
    store_->GetAccess(path, std::move(done));
  }
  void SetAccess(const std::string& path, AccessList list, StatusCallback done) override {
    store_->SetAccess(path, std::move(list), std::move(done));
  }
  StoreAccess* access() const override { return store_->access(); }
  SessionState state() const override { return store_->state(); }
  std::chrono::milliseconds session_timeout() const override { return store_->session_timeout(); }
  int64_t session_id() const override { return store_->session_id(); }
  void Close() override { store_->Close(); }

 private:
  const std::unique_ptr<CoordinationStore> store_;
};

}  // namespace shardmanager
