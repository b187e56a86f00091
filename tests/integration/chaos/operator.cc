#include "tests/integration/chaos/operator.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::testing {
namespace {

// Of one change at one shardmanagerd.
constexpr std::chrono::seconds kDeadline{2};
constexpr std::chrono::milliseconds kPause{300};
constexpr uint32_t kFirst = 30'000;

}  // namespace

Operator::Operator(const local::Cluster& cluster, v1::AppSpec spec) : spec_(std::move(spec)) {
  for (int i = 0; i < cluster.options().managers; ++i) {
    managers_.push_back(cluster.admin(static_cast<size_t>(i), kDeadline));
  }
  thread_ = std::thread([this] { Run(); });
}

Operator::~Operator() { Stop(); }

void Operator::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    stop_.notify_all();
  }
  thread_.join();
}

void Operator::Run() {
  std::unique_lock lock(mutex_);
  for (uint32_t change = kFirst; !stopping_; ++change) {
    lock.unlock();
    Change(change);
    lock.lock();
    stop_.wait_for(lock, kPause, [this] { return stopping_; });
  }
}

void Operator::Change(uint32_t change) {
  spec_.mutable_moves()->set_collect_interval_ms(change);
  for (local::AdminClient& manager : managers_) {
    const absl::Status status = manager.Apply(spec_).status();
    if (status.ok()) {
      ++acknowledged_;
      last_acknowledged_ = change;
      return;
    }
    // It does not lead: it did nothing.
    if (!absl::IsFailedPrecondition(status)) unknown_.insert(change);
  }
}

absl::Status Operator::Finish() {
  Stop();
  absl::Status status = absl::UnavailableError("nobody leads");
  for (local::AdminClient& manager : managers_) {
    const auto apps = manager.GetApps();
    if (!apps.ok()) {
      status = apps.status();
      continue;
    }
    if (apps->apps_size() != 1) return absl::DataLossError("the app is gone");
    const uint32_t found = apps->apps(0).spec().moves().collect_interval_ms();
    if (found == last_acknowledged_ || unknown_.contains(found)) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the spec has change ", found, ", and change ",
                                            last_acknowledged_, " was acknowledged last"));
  }
  return status;
}

}  // namespace shardmanager::testing
