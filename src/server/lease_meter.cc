#include "server/lease_meter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::server {
namespace {

double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

void AppendHead(std::string& text, const char* name, const char* type, const char* help) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace

void LeaseMeter::Renewed(Duration left) {
  const int64_t left_us = std::max<int64_t>(left.count(), 0);
  const auto bucket = std::find_if(kBoundsMs.begin(), kBoundsMs.end(),
                                   [&](int64_t bound_ms) { return left_us <= bound_ms * 1'000; });
  ++renewals_[static_cast<size_t>(bucket - kBoundsMs.begin())];
  left_us_ += left_us;
}

std::string LeaseMeter::Text(Duration remaining) const {
  constexpr char kAtRenewal[] = "shardmanager_server_lease_left_at_renewal_seconds";
  constexpr char kRemaining[] = "shardmanager_server_lease_remaining_seconds";
  constexpr char kHeld[] = "shardmanager_server_lease_held_requests_total";
  constexpr char kRefused[] = "shardmanager_server_lease_refused_requests_total";
  std::string text;
  AppendHead(text, kAtRenewal, "histogram",
             "What was left of the lease when it was renewed; 0: it had lapsed.");
  uint64_t count = 0;
  for (size_t i = 0; i < renewals_.size(); ++i) {
    count += renewals_[i];
    const std::string bound =
        i < kBoundsMs.size() ? absl::StrCat(Seconds(kBoundsMs[i] * 1'000)) : "+Inf";
    absl::StrAppend(&text, kAtRenewal, "_bucket{le=\"", bound, "\"} ", count, "\n");
  }
  absl::StrAppend(&text, kAtRenewal, "_sum ", Seconds(left_us_), "\n");
  absl::StrAppend(&text, kAtRenewal, "_count ", count, "\n");
  AppendHead(text, kRemaining, "gauge", "What is left of the lease now; 0: there is none.");
  absl::StrAppend(&text, kRemaining, " ", Seconds(remaining.count()), "\n");
  AppendHead(text, kHeld, "counter", "Requests that waited for the renewal of a lapsed lease.");
  absl::StrAppend(&text, kHeld, " ", held_.load(), "\n");
  AppendHead(text, kRefused, "counter", "Requests that were refused as lease-lapsed.");
  absl::StrAppend(&text, kRefused, " ", refused_.load(), "\n");
  return text;
}

}  // namespace shardmanager::server
