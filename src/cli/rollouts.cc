#include "cli/rollouts.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/time_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

std::string NameOf(const v1::RolloutStatus& rollout) {
  return rollout.name().empty() ? "-" : Shown(rollout.name());
}

uint32_t UnderWay(const v1::RolloutStatus& rollout) {
  return rollout.preparing() + rollout.approved() + rollout.begun();
}

std::string Done(const v1::RolloutStatus& rollout) {
  return absl::StrCat(rollout.finished(), "/", rollout.finished() + OperationsLeft(rollout));
}

// Negative: not known.
std::string TimeOrNothing(int64_t ms) {
  return ms < 0 ? "" : AgeText(std::chrono::milliseconds(ms));
}

Cell TimeLeft(const v1::RolloutStatus& rollout) {
  if (OperationsLeft(rollout) == 0 && rollout.finished() == 0) return {"given up"};
  if (OperationsLeft(rollout) == 0) return {"done", Tone::kGood};
  if (rollout.ends_in_ms() < 0) return {"unknown", Tone::kWarning};
  const std::string about = absl::StrCat("about ", RoundedText(rollout.ends_in_ms()));
  // While none has finished: by what its manager expects.
  return {rollout.mean_ms() < 0 ? absl::StrCat(about, " (expected)") : about};
}

std::string WhyNotFaster(const v1::RolloutStatus& rollout) {
  if (OperationsLeft(rollout) == 0) return "";
  std::string why = rollout.ends_in_ms() < 0 ? rollout.forecast_reason() : "";
  if (!rollout.delays().empty()) {
    const v1::RolloutDelay& delay = rollout.delays(0);
    absl::StrAppend(&why, why.empty() ? "" : "; ", Counted(delay.operations(), "operation"), ": ",
                    delay.message());
  }
  return Shown(why);
}

}  // namespace

uint32_t OperationsLeft(const v1::RolloutStatus& rollout) {
  return rollout.waiting() + UnderWay(rollout);
}

std::string RoundedText(int64_t ms) {
  constexpr int64_t kMinute = 60'000;
  const int64_t step = ms < kMinute ? 5'000 : ms < 60 * kMinute ? kMinute : 5 * kMinute;
  const int64_t steps = std::max<int64_t>(1, (ms + step / 2) / step);
  return AgeText(std::chrono::milliseconds(steps * step));
}

std::string RolloutsTable(const v1::GetRolloutsResponse& response, Style style) {
  const bool several_apps = HasSeveralApps(response.rollouts());
  std::vector<std::string> header;
  if (several_apps) header.push_back("APP");
  for (const char* name : {"ROLLOUT", "MANAGER", "DONE", "UNDER-WAY", "WAITING", "FOR", "LEFT"}) {
    header.push_back(name);
  }
  if (style.wide) {
    for (const char* name : {"KIND", "AT-ONCE", "MEAN", "PROGRESS", "SEEN-FOR"}) {
      header.push_back(name);
    }
  }
  header.push_back("WHY");
  Table table(std::move(header));
  for (const v1::RolloutStatus& rollout : response.rollouts()) {
    std::vector<Cell> row;
    if (several_apps) row.push_back({Shown(rollout.app())});
    row.push_back({NameOf(rollout)});
    row.push_back({Shown(rollout.manager())});
    row.push_back({Done(rollout)});
    row.push_back({absl::StrCat(UnderWay(rollout))});
    row.push_back({absl::StrCat(rollout.waiting())});
    row.push_back({TimeOrNothing(rollout.began_ms())});
    row.push_back(TimeLeft(rollout));
    if (style.wide) {
      const bool one_kind = rollout.kind() != v1::OPERATION_KIND_UNSPECIFIED;
      row.push_back({one_kind ? EnumLabel(rollout.kind()) : ""});
      row.push_back({absl::StrCat(rollout.at_once())});
      row.push_back({TimeOrNothing(rollout.mean_ms())});
      row.push_back({TimeOrNothing(rollout.progress_ms())});
      row.push_back({TimeOrNothing(rollout.seen_for_ms())});
    }
    row.push_back({WhyNotFaster(rollout)});
    table.AddRow(std::move(row));
  }
  return table.Render(style.colour, "");
}

std::string RolloutLine(const v1::RolloutStatus& rollout) {
  const std::string line = absl::StrCat(Shown(rollout.app()), ": ", NameOf(rollout), " of ",
                                        Shown(rollout.manager()), ": ", Done(rollout), " done");
  if (OperationsLeft(rollout) == 0) return line;
  const std::string left = rollout.ends_in_ms() < 0
                               ? absl::StrCat("time left unknown: ", WhyNotFaster(rollout))
                               : absl::StrCat(TimeLeft(rollout).text, " left");
  return absl::StrCat(line, ", ", UnderWay(rollout), " under way, ", rollout.waiting(),
                      " waiting; ", left);
}

std::string RolloutFigures(const v1::RolloutStatus& rollout) {
  return absl::StrCat(Done(rollout), " ", UnderWay(rollout), " ", rollout.waiting());
}

}  // namespace shardmanager::cli
