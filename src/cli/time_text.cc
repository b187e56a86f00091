#include "cli/time_text.h"

#include <array>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace shardmanager::cli {
namespace {

struct Unit {
  const char* name;
  int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

// About 300 years: sums cannot overflow.
constexpr int64_t kMostMs = 10'000'000'000'000;

}  // namespace

std::string AgeText(std::chrono::milliseconds age) {
  const int64_t ms = age.count();
  if (ms <= 0) return "0s";
  if (ms < 1000) return absl::StrCat(ms, "ms");
  for (size_t i = 0; i + 1 < kUnits.size(); ++i) {
    const int64_t whole = ms / kUnits[i].ms;
    if (whole == 0) continue;
    const int64_t rest = ms % kUnits[i].ms / kUnits[i + 1].ms;
    const std::string text = absl::StrCat(whole, kUnits[i].name);
    return rest == 0 || kUnits[i].ms == 1000 ? text : absl::StrCat(text, rest, kUnits[i + 1].name);
  }
  return "0s";
}

std::optional<std::chrono::milliseconds> ParseAge(const std::string& text) {
  int64_t total = 0;
  size_t next_unit = 0;  // units must descend
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t count = 0;
    const auto [stop, error] = std::from_chars(at, end, count);
    if (error != std::errc() || count < 0) return std::nullopt;
    const char* unit_end = stop;
    while (unit_end != end && (*unit_end < '0' || *unit_end > '9') && *unit_end != '-') ++unit_end;
    const std::string unit(stop, unit_end);
    while (next_unit < kUnits.size() && unit != kUnits[next_unit].name) ++next_unit;
    if (next_unit == kUnits.size() || count > kMostMs / kUnits[next_unit].ms) return std::nullopt;
    total += count * kUnits[next_unit++].ms;
    at = unit_end;
  }
  if (text.empty() || total > kMostMs) return std::nullopt;
  return std::chrono::milliseconds(total);
}

std::optional<int64_t> ParseMoment(const std::string& text) {
  for (const char* format : {absl::RFC3339_full, "%Y-%m-%d%ET%H:%M%Ez"}) {
    absl::Time time;
    if (absl::ParseTime(format, text, &time, nullptr)) return absl::ToUnixMillis(time);
  }
  return std::nullopt;
}

}  // namespace shardmanager::cli
