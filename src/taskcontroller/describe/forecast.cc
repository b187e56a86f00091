#include "taskcontroller/describe/forecast.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager::taskcontroller {
namespace {

// An app without progress counts as stuck after so many usual times of an operation, and not before
// managers have reported a few times.
constexpr int kUsualTimesWithoutProgress = 3;
constexpr Duration kLeastPatience = Seconds(15);
// A year: longer forecasts say nothing more.
constexpr Duration kLongest = Seconds(365 * 86'400);

// Why nobody can tell; empty: there is a forecast.
std::string WhyUnknown(const WorkLeft& work) {
  if (!work.held_back.empty()) return absl::StrCat("nothing is approved: ", work.held_back);
  if (!work.no_progress_for && work.under_way == 0) return "no operation was approved yet";
  const bool blocked = work.under_way == 0 && work.may_be_at_once == 0;
  const int usual_times = blocked ? 1 : kUsualTimesWithoutProgress;
  const Duration patience = std::max(kLeastPatience, usual_times * work.longest_usual);
  if (work.no_progress_for > patience) {
    return absl::StrCat("no operation of the app has got on for ", SpanText(*work.no_progress_for));
  }
  if (work.waiting == 0 && work.last_ends_in <= Duration(0)) {
    return absl::StrCat("what is under way takes longer than ",
                        work.measured ? "the operations before it" : "its manager expects");
  }
  return "";
}

// What is left as one stream of work; but an operation that still waits takes its time, too,
// however many go at once.
Duration TimeOf(const WorkLeft& work) {
  if (work.waiting == 0) return work.last_ends_in;
  const double at_once = work.mean_at_once > 0 ? work.mean_at_once : 1;
  const double stream = static_cast<double>(work.usual_times.count()) / at_once;
  const double longest = kLongest.count();
  return std::max(Duration(static_cast<int64_t>(std::min(stream, longest))), work.longest_usual);
}

}  // namespace

Forecast ForecastOf(const WorkLeft& work) {
  if (std::string why = WhyUnknown(work); !why.empty()) return {std::nullopt, std::move(why)};
  if (!work.measured) {
    return {TimeOf(work),
            "if operations take as long as their managers expect: not enough of them have finished "
            "yet; the time in which servers are emptied before comes on top"};
  }
  return {TimeOf(work),
          absl::StrFormat("if the operations of the app go on as so far: %.1f at once "
                          "on average",
                          work.mean_at_once)};
}

std::string SpanText(Duration span) {
  const double seconds = InSeconds(span);
  return seconds < 120 ? absl::StrFormat("%.0f s", seconds)
                       : absl::StrFormat("%.0f min", seconds / 60);
}

}  // namespace shardmanager::taskcontroller
