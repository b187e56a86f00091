#include "daemon/health.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"

namespace shardmanager::daemon {
namespace {

constexpr std::chrono::milliseconds kPatience{1'000};

}  // namespace

struct ControlHealth::Asked {
  std::mutex mutex;
  std::condition_variable came;
  Question question;  // null: none is to be asked
  bool stopping = false;
  std::optional<TimePoint> since;  // a question is under way
  uint64_t answers = 0;
  v1::GetStatusResponse last;
};

ControlHealth::ControlHealth(Duration most_silence)
    : most_silence_(most_silence), asked_(std::make_shared<Asked>()) {}

void ControlHealth::Watch(Question question) {
  const std::lock_guard lock(asked_->mutex);
  asked_->question = std::move(question);
}

void ControlHealth::Forget() {
  const std::lock_guard lock(asked_->mutex);
  asked_->question = nullptr;
  asked_->stopping = true;
}

Health ControlHealth::health() {
  return {.lives = [this] { return Lives(); }, .ready = [this] { return Ready(); }};
}

bool ControlHealth::Ask() {
  std::unique_lock lock(asked_->mutex);
  if (!asked_->question) return false;
  const uint64_t before = asked_->answers;
  if (!asked_->since) {
    asked_->since = MonotonicNow();
    asked_->question([asked = asked_](const absl::StatusOr<v1::GetStatusResponse>& answer) {
      const std::lock_guard answer_lock(asked->mutex);
      if (answer.ok()) asked->last = *answer;
      asked->since.reset();
      ++asked->answers;
      asked->came.notify_all();
    });
  }
  return asked_->came.wait_for(lock, kPatience, [&] { return asked_->answers != before; });
}

absl::Status ControlHealth::Lives() {
  Ask();
  const std::lock_guard lock(asked_->mutex);
  if (!asked_->question || !asked_->since) return absl::OkStatus();
  const Duration silent = MonotonicNow() - *asked_->since;
  if (silent < most_silence_) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the control thread has not answered for ", silent / Seconds(1), " s"));
}

absl::Status ControlHealth::Ready() {
  const bool answered = Ask();
  const std::lock_guard lock(asked_->mutex);
  if (asked_->stopping) return absl::UnavailableError("stopping");
  if (!asked_->question) return absl::UnavailableError("starting");
  if (!answered) return absl::UnavailableError("the control thread is busy and does not answer");
  const v1::GetStatusResponse& status = asked_->last;
  if (status.cut_off_ms() > 0) {
    return absl::UnavailableError(
        absl::StrCat("ZooKeeper has not answered for ", status.cut_off_ms(), " ms"));
  }
  if (status.leading() || !status.leader_endpoint().empty()) return absl::OkStatus();
  return absl::UnavailableError("no process is known to lead the cell");
}

}  // namespace shardmanager::daemon
