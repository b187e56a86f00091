#include "testing/handler_probe.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shardmanager {

// ---- HeldCall ----

HeldCall::HeldCall(std::shared_ptr<testing_internal::HeldCallState> state)
    : state_(std::move(state)) {}
HeldCall::HeldCall(HeldCall&&) noexcept = default;
HeldCall& HeldCall::operator=(HeldCall&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
HeldCall::~HeldCall() {
  if (state_ != nullptr) Release();
}

bool HeldCall::Await() {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, state_->patience, [this] { return state_->arrived; });
}

void HeldCall::Release() {
  std::lock_guard lock(state_->mutex);
  state_->released = true;
  state_->changed.notify_all();
}

namespace testing_internal {
namespace {

std::string Word(const char* method, const ShardGrant& grant) {
  return absl::StrCat(method, "(", grant.shard.value(), ", ",
                      grant.role == Role::kPrimary ? "primary" : "secondary", ", ",
                      grant.epoch.value(), ")");
}

std::string Word(const char* method, const ShardId& shard) {
  return absl::StrCat(method, "(", shard.value(), ")");
}

}  // namespace

// ---- HandlerFaults ----

void HandlerFaults::FailNext(HandlerMethod method, absl::Status error) {
  std::lock_guard lock(mutex_);
  errors_[method].push_back(std::move(error));
}

void HandlerFaults::Hold(HandlerMethod method, std::shared_ptr<HeldCallState> held) {
  std::lock_guard lock(mutex_);
  holds_[method].push_back(std::move(held));
}

std::vector<std::string> HandlerFaults::calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

absl::Status HandlerFaults::Begin(HandlerMethod method, std::string call) {
  std::unique_lock lock(mutex_);
  calls_.push_back(std::move(call));
  const auto holds = holds_[method];
  absl::Status error;
  if (auto& errors = errors_[method]; !errors.empty()) {
    error = std::move(errors.front());
    errors.pop_front();
  }
  lock.unlock();
  for (const auto& held : holds) {
    std::unique_lock held_lock(held->mutex);
    held->arrived = true;
    held->changed.notify_all();
    held->changed.wait(held_lock, [&] { return held->released; });
  }
  return error;
}

void HandlerFaults::ReleaseAll() {
  std::lock_guard lock(mutex_);
  for (const auto& [method, holds] : holds_) {
    for (const auto& held : holds) {
      std::lock_guard held_lock(held->mutex);
      held->released = true;
      held->changed.notify_all();
    }
  }
}

// ---- HandlerProbe ----

absl::Status HandlerProbe::AddShard(const ShardGrant& grant, const LoadProgress& progress) {
  absl::Status error = faults_->Begin(HandlerMethod::kAddShard, Word("AddShard", grant));
  return error.ok() ? handler_.AddShard(grant, progress) : error;
}

absl::Status HandlerProbe::DropShard(const ShardId& shard) {
  absl::Status error = faults_->Begin(HandlerMethod::kDropShard, Word("DropShard", shard));
  return error.ok() ? handler_.DropShard(shard) : error;
}

absl::Status HandlerProbe::PrepareAddShard(const ShardGrant& grant) {
  absl::Status error =
      faults_->Begin(HandlerMethod::kPrepareAddShard, Word("PrepareAddShard", grant));
  return error.ok() ? handler_.PrepareAddShard(grant) : error;
}

absl::Status HandlerProbe::PrepareDropShard(const ShardId& shard) {
  absl::Status error =
      faults_->Begin(HandlerMethod::kPrepareDropShard, Word("PrepareDropShard", shard));
  return error.ok() ? handler_.PrepareDropShard(shard) : error;
}

absl::Status HandlerProbe::ChangeRole(const ShardGrant& grant) {
  absl::Status error = faults_->Begin(HandlerMethod::kChangeRole, Word("ChangeRole", grant));
  return error.ok() ? handler_.ChangeRole(grant) : error;
}

absl::Status HandlerProbe::UpdateMembership(const ShardId& shard, const Members& members) {
  const std::string names = absl::StrJoin(members, " ", [](std::string* out, const Peer& member) {
    out->append(member.server.value());
  });
  absl::Status error =
      faults_->Begin(HandlerMethod::kUpdateMembership,
                     absl::StrCat("UpdateMembership(", shard.value(), ", ", names, ")"));
  return error.ok() ? handler_.UpdateMembership(shard, members) : error;
}

}  // namespace testing_internal
}  // namespace shardmanager
