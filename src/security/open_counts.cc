#include "security/open_counts.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::security {

OpenCounts::OpenCounts(size_t most, std::string what, std::string flag)
    : most_(most),
      what_(std::move(what)),
      flag_(std::move(flag)),
      counts_(std::make_shared<Counts>()) {}

absl::StatusOr<OpenCounts::Open> OpenCounts::Begin(const std::string& who) {
  std::lock_guard lock(counts_->mutex);
  const auto found = counts_->of.find(who);
  if (most_ > 0 && found != counts_->of.end() && found->second >= most_) {
    return absl::ResourceExhaustedError(absl::StrCat(who, " has ", found->second, " ", what_,
                                                     " here; allowed: ", most_, " (", flag_, ")"));
  }
  ++counts_->of[who];
  const auto end = [counts = counts_, who](void*) {
    std::lock_guard lock(counts->mutex);
    const auto at = counts->of.find(who);
    if (--at->second == 0) counts->of.erase(at);
  };
  return Open(std::shared_ptr<void>(counts_.get(), end));
}

size_t OpenCounts::open() const {
  std::lock_guard lock(counts_->mutex);
  size_t all = 0;
  for (const auto& [who, open] : counts_->of) all += open;
  return all;
}

size_t OpenCounts::size() const {
  std::lock_guard lock(counts_->mutex);
  return counts_->of.size();
}

}  // namespace shardmanager::security
