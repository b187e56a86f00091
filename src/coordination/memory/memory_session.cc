#include "coordination/memory/memory_session.h"

#include <utility>

#include "coordination/write_check.h"

namespace shardmanager {

const MemoryActor& MemorySession::actor() const { return ensemble_->sessions_.at(number_).actor; }

void MemorySession::Get(const std::string& path, NodeCallback done, Watch watch) {
  if (absl::Status sound = CheckPath(path); !sound.ok()) {
    ensemble_->EnqueueLocal(number_, [done = std::move(done), sound] { done(sound); });
    return;
  }
  auto fail = [done](absl::Status status) { done(std::move(status)); };
  auto apply = [this, path, done = std::move(done), watch = std::move(watch)] {
    auto node = ensemble_->view(number_).Get(path, actor());
    const bool set = watch && (node.ok() || absl::IsNotFound(node.status()));
    if (set) ensemble_->AddWatch(number_, WatchKind::kData, path);
    return [this, path, done, watch, set, node = std::move(node)]() mutable {
      if (set) watches_.Add(WatchKind::kData, path, std::move(watch));
      done(std::move(node));
    };
  };
  ensemble_->Enqueue(number_, MemoryEnsemble::Kind::kRead, std::move(apply), std::move(fail));
}

void MemorySession::GetChildren(const std::string& path, ChildrenCallback done, Watch watch) {
  if (absl::Status sound = CheckPath(path); !sound.ok()) {
    ensemble_->EnqueueLocal(number_, [done = std::move(done), sound] { done(sound); });
    return;
  }
  auto fail = [done](absl::Status status) { done(std::move(status)); };
  auto apply = [this, path, done = std::move(done), watch = std::move(watch)] {
    auto names = ensemble_->view(number_).Children(path, actor());
    const bool set = watch && names.ok();
    if (set) ensemble_->AddWatch(number_, WatchKind::kChildren, path);
    return [this, path, done, watch, set, names = std::move(names)]() mutable {
      if (set) watches_.Add(WatchKind::kChildren, path, std::move(watch));
      done(std::move(names));
    };
  };
  ensemble_->Enqueue(number_, MemoryEnsemble::Kind::kRead, std::move(apply), std::move(fail));
}

void MemorySession::Multi(std::vector<WriteOp> ops, WriteCallback done) {
  if (WriteResult checked = PrepareWrite(ops, access()); !checked.status.ok()) {
    ensemble_->EnqueueLocal(number_, [done = std::move(done), checked] { done(checked); });
    return;
  }
  auto fail = [done](absl::Status status) { done({std::move(status), -1}); };
  auto apply = [this, ops = std::move(ops), done = std::move(done)] {
    return [done, result = ensemble_->Write(number_, ops)] { done(result); };
  };
  ensemble_->Enqueue(number_, MemoryEnsemble::Kind::kWrite, std::move(apply), std::move(fail));
}

void MemorySession::Sync(StatusCallback done) {
  auto fail = [done](absl::Status status) { done(std::move(status)); };
  auto apply = [done = std::move(done)] { return [done] { done(absl::OkStatus()); }; };
  ensemble_->Enqueue(number_, MemoryEnsemble::Kind::kSync, std::move(apply), std::move(fail));
}

void MemorySession::GetAccess(const std::string& path, AccessCallback done) {
  auto fail = [done](absl::Status status) { done(std::move(status)); };
  auto apply = [this, path, done = std::move(done)] {
    auto list = ensemble_->view(number_).Access(path, actor());
    return [done, list = std::move(list)] { done(list); };
  };
  ensemble_->Enqueue(number_, MemoryEnsemble::Kind::kRead, std::move(apply), std::move(fail));
}

void MemorySession::SetAccess(const std::string& path, AccessList list, StatusCallback done) {
  if (list.empty()) {
    ensemble_->EnqueueLocal(number_, [done = std::move(done), path] { done(NoEmptyAccess(path)); });
    return;
  }
  auto fail = [done](absl::Status status) { done(std::move(status)); };
  auto apply = [this, path, list = std::move(list), done = std::move(done)] {
    return [done, status = ensemble_->tree_.SetAccess(path, list, actor())] { done(status); };
  };
  ensemble_->Enqueue(number_, MemoryEnsemble::Kind::kWrite, std::move(apply), std::move(fail));
}

void MemorySession::Close() {
  if (state_ == SessionState::kClosed) return;
  state_ = SessionState::kClosed;
  ensemble_->CloseSession(number_);
  watches_.Clear();
}

void MemorySession::OnState(SessionState state) {
  state_ = state;
  if (state == SessionState::kConnected) timeout_ = ensemble_->granted_timeout(number_);
  if (options_.on_state) options_.on_state(state);
  if (state != SessionState::kConnected) watches_.FireAll();
}

}  // namespace shardmanager
