#include "cli/commands/top_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

// Three digits, and no more than the figures are worth.
std::string Rate(double per_second) {
  if (per_second >= 100) return absl::StrFormat("%.0f", per_second);
  return absl::StrFormat(per_second >= 1 ? "%.1f" : "%.2g", per_second);
}

std::string Percent(double part) { return absl::StrFormat("%.0f%%", 100 * part); }

// "<2ms": an upper bound.
std::string Below(double ms) {
  if (ms <= 0) return "";
  return ms < 1000 ? absl::StrFormat("<%.2gms", ms) : absl::StrFormat("<%.2gs", ms / 1000);
}

Cell Status(bool hot, const std::string& reason) {
  if (!hot) return {""};
  return {reason.empty() ? "hot" : absl::StrCat("hot: ", Shown(reason)), Tone::kWarning};
}

std::string SpreadText(const v1::AppSkew& skew) {
  std::string text = skew.has_entropy_bits()
                         ? absl::StrFormat("keys spread over %.1f of 6 bits", skew.entropy_bits())
                         : "too few requests to say how keys are spread";
  if (skew.entropy_highest_bits() > 0) {
    absl::StrAppend(&text,
                    absl::StrFormat(" (%.1f to %.1f in the last hour)", skew.entropy_lowest_bits(),
                                    skew.entropy_highest_bits()));
  }
  return text;
}

}  // namespace

void KeepTopShards(v1::GetShardsResponse& response, size_t most) {
  auto& shards = *response.mutable_shards();
  std::stable_sort(shards.pointer_begin(), shards.pointer_end(), [](const auto* a, const auto* b) {
    return a->traffic().requests_per_s() > b->traffic().requests_per_s();
  });
  int kept = 0;
  while (kept < shards.size() && static_cast<size_t>(kept) < most && shards[kept].has_traffic()) {
    ++kept;
  }
  shards.DeleteSubrange(kept, shards.size() - kept);
}

std::string TopShardsTable(const v1::GetShardsResponse& response, Style style) {
  if (response.shards().empty()) return "no server has told of a request yet\n";
  Table table({"SHARD", "REQ/S", "SHARE", "OF-SERVER", "ERR/S", "P50", "P99", "STATUS"});
  for (const v1::ShardStatus& shard : response.shards()) {
    const v1::ShardTrafficStatus& traffic = shard.traffic();
    table.AddRow(
        {{Shown(shard.shard())},
         {Rate(traffic.requests_per_s())},
         {Percent(traffic.share())},
         {Percent(traffic.of_server())},
         {Rate(traffic.errors_per_s()), traffic.errors_per_s() > 0 ? Tone::kWarning : Tone::kPlain},
         {Below(traffic.p50_ms())},
         {Below(traffic.p99_ms())},
         Status(traffic.hot(), traffic.reason())});
  }
  return table.Render(style.colour);
}

std::string TopKeysTable(const v1::AppSkew& skew, Style style) {
  if (skew.keys().empty()) return "no router has named a key yet\n";
  Table table({"KEY", "SHARD", "REQ/S", "SHARE", "OF-SERVER", "STATUS"});
  for (const v1::HotKey& key : skew.keys()) {
    // Where the sketch may be wrong by more than a tenth, both bounds are told.
    const bool exact = key.error_per_s() <= key.requests_per_s() / 10;
    const std::string least = Rate(std::max(0.0, key.requests_per_s() - key.error_per_s()));
    table.AddRow({{Quoted(key.key())},
                  {Shown(key.shard())},
                  {exact ? Rate(key.requests_per_s())
                         : absl::StrCat(least, " to ", Rate(key.requests_per_s()))},
                  {Percent(key.share())},
                  {Percent(key.of_server())},
                  Status(key.hot(), "")});
  }
  return absl::StrCat(table.Render(style.colour), "\n", Counted(skew.keys_sampled(), "request"),
                      " looked at; ", SpreadText(skew), "\n");
}

std::string SkewText(const v1::AppSkew& skew) {
  return absl::StrCat(
      Rate(skew.requests_per_s()), "/s; ", Rate(skew.server_requests_per_s()),
      "/s at a server on average; ",
      skew.shards_hot() == 0 ? "" : absl::StrCat(Counted(skew.shards_hot(), "hot shard"), "; "),
      SpreadText(skew));
}

std::string TrafficText(const v1::ShardTrafficStatus& traffic) {
  std::string text = absl::StrCat(Rate(traffic.requests_per_s()), "/s, ", Percent(traffic.share()),
                                  " of the app's");
  if (traffic.errors_per_s() > 0) {
    absl::StrAppend(&text, "; ", Rate(traffic.errors_per_s()), " errors/s");
  }
  if (traffic.p99_ms() > 0) {
    absl::StrAppend(&text, "; p50 ", Below(traffic.p50_ms()), ", p99 ", Below(traffic.p99_ms()));
  }
  if (traffic.hot()) absl::StrAppend(&text, "; hot: ", Shown(traffic.reason()));
  return text;
}

}  // namespace shardmanager::cli
