#include "security/call_rates.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace shardmanager::security {
namespace {

// By then a bucket that nobody takes from is full again.
constexpr Duration kForgetEvery = Seconds(10);

}  // namespace

absl::Status CallRates::Take(const std::string& who, TimePoint now) {
  if (per_second_ <= 0) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  if (now - forgot_at_ >= kForgetEvery) ForgetFull(now);
  auto [found, is_new] = buckets_.try_emplace(who, Bucket{burst(), now});
  Bucket& bucket = found->second;
  const double filled = InSeconds(std::max(now - bucket.seen, Duration(0))) * per_second_;
  bucket.calls = std::min(burst(), bucket.calls + filled);
  bucket.seen = now;
  if (bucket.calls < 1) {
    const double wait_ms = std::ceil(1'000 * (1 - bucket.calls) / per_second_);
    return absl::ResourceExhaustedError(
        absl::StrCat(who, " makes more than ", per_second_,
                     " calls a second (--calls-per-s of shardmanagerd); "
                     "this one was not looked at. It may call again in ",
                     wait_ms, " ms"));
  }
  bucket.calls -= 1;
  return absl::OkStatus();
}

void CallRates::ForgetFull(TimePoint now) {
  forgot_at_ = now;
  std::erase_if(buckets_, [&](const auto& entry) { return now - entry.second.seen >= Seconds(2); });
}

size_t CallRates::size() const {
  std::lock_guard lock(mutex_);
  return buckets_.size();
}

}  // namespace shardmanager::security
