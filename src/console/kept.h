// What was asked lately is not asked again: the control plane's own work comes first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace shardmanager::console {

// Values by name, made when they are asked for, and made anew at most once a second, and seldom
// enough that this takes a tenth of the time at most. Errors are not kept. Those that nobody asked
// for for a minute go, and of more than `most` the one that was not asked for for longest.
// Thread-safe: who asks for a value that is being made waits for it.
template <typename Value>
class Kept {
 public:
  using Make = std::function<absl::StatusOr<Value>(const std::string& name)>;
  using Now = std::function<TimePoint()>;

  Kept(Make make, Now now, size_t most = 10'000)
      : make_(std::move(make)), now_(std::move(now)), most_(most) {}

  absl::StatusOr<std::shared_ptr<const Value>> Get(const std::string& name) {
    const std::shared_ptr<Entry> entry = Find(name);
    const std::lock_guard lock(entry->mutex);
    const TimePoint now = now_();
    if (entry->value != nullptr && now < entry->fresh_until) return entry->value;
    entry->value = nullptr;  // not twice in memory
    absl::StatusOr<Value> made = make_(name);
    if (!made.ok()) return made.status();
    const TimePoint then = now_();
    entry->value = std::make_shared<const Value>(*std::move(made));
    entry->fresh_until = then + std::max<Duration>(kLeastPause, kCostFactor * (then - now));
    return entry->value;
  }

 private:
  static constexpr Duration kLeastPause = Seconds(1);
  static constexpr int kCostFactor = 9;
  static constexpr Duration kForget = Seconds(60);

  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const Value> value;
    TimePoint fresh_until{};
    TimePoint asked_at{};  // under the mutex of all
  };

  std::shared_ptr<Entry> Find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const TimePoint now = now_();
    std::erase_if(entries_,
                  [&](const auto& entry) { return entry.second->asked_at + kForget < now; });
    if (entries_.size() >= most_ && !entries_.contains(name)) {
      entries_.erase(std::min_element(
          entries_.begin(), entries_.end(),
          [](const auto& a, const auto& b) { return a.second->asked_at < b.second->asked_at; }));
    }
    auto& entry = entries_[name];
    if (entry == nullptr) entry = std::make_shared<Entry>();
    entry->asked_at = now;
    return entry;
  }

  const Make make_;
  const Now now_;
  const size_t most_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace shardmanager::console
