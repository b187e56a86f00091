#include "cli/what_if.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render.h"
#include "cli/table.h"
#include "cli/time_text.h"
#include "model/drain.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

std::string After(int64_t ms) { return "after " + AgeText(std::chrono::milliseconds(ms)); }

std::string Servers(uint32_t count) { return Counted(count, "server"); }

std::string Number(double value) {
  const bool whole = value == std::floor(value) || std::abs(value) >= 10'000;
  return whole ? absl::StrFormat("%.0f", value) : absl::StrFormat("%.4g", value);
}

// "" if it cannot be seen.
std::string Difference(double before, double after) {
  if (Number(before) == Number(after)) return "";
  return absl::StrCat(after > before ? "+" : "", Number(after - before));
}

// Rows of a quantity before and after.
class Comparison {
 public:
  Comparison() : table_({"MEASURE", "BEFORE", "AFTER", "CHANGE"}) {}

  // `less_is_bad`: a fall is shown as a lack.
  void Add(const std::string& name, double before, double after, bool less_is_bad = false) {
    const Tone tone = less_is_bad && after < before ? Tone::kBad : Tone::kPlain;
    table_.AddRow({{name}, {Number(before)}, {Number(after)}, {Difference(before, after), tone}});
  }
  // More than none is a lack.
  void AddLack(const std::string& name, uint32_t before, uint32_t after) {
    table_.AddRow({{name},
                   {Number(before), before > 0 ? Tone::kWarning : Tone::kPlain},
                   {Number(after), after > 0 ? Tone::kBad : Tone::kPlain},
                   {Difference(before, after)}});
  }
  std::string Render(bool colour) const { return table_.Render(colour); }

 private:
  Table table_;
};

void AddMetrics(const v1::Outlook& before, const v1::Outlook& after, Comparison& rows) {
  std::map<std::string, v1::MetricOutlook> known;
  for (const v1::MetricOutlook& metric : before.metrics()) known[metric.metric()] = metric;
  for (const v1::MetricOutlook& is : after.metrics()) {
    const v1::MetricOutlook& was = known[is.metric()];
    const std::string name = Shown(is.metric()) + " of a server: ";
    rows.Add(name + "mean", was.mean(), is.mean());
    rows.Add(name + "99th percentile", was.p99(), is.p99());
    rows.Add(name + "most", was.most(), is.most());
    if (was.most_pct() > 0 || is.most_pct() > 0) {
      rows.Add(name + "% of capacity at most", was.most_pct(), is.most_pct());
      rows.AddLack("servers above the threshold of " + Shown(is.metric()), was.servers_over(),
                   is.servers_over());
    }
  }
}

void AddRegions(const v1::Outlook& before, const v1::Outlook& after, Comparison& rows) {
  std::map<std::string, std::pair<v1::RegionOutlook, v1::RegionOutlook>> regions;
  for (const v1::RegionOutlook& region : before.regions()) regions[region.region()].first = region;
  for (const v1::RegionOutlook& region : after.regions()) regions[region.region()].second = region;
  for (const auto& [name, both] : regions) {
    const std::string where = name.empty() ? "no region" : Shown(name);
    rows.Add(where + ": servers", both.first.servers_live(), both.second.servers_live());
    rows.Add(where + ": replicas", both.first.replicas_serving(), both.second.replicas_serving());
  }
}

std::string WhenServed(const v1::ImaginedChange& change, const v1::WhatIfReport& report) {
  const v1::Outlook& after = report.after();
  const uint32_t unserved = after.shards() - std::min(after.shards(), after.shards_served());
  if (unserved > 0) {
    return absl::StrCat(Counted(unserved, "shard"), " of ", after.shards(),
                        " not served at the end");
  }
  // (A primary that was lost is missed until that is noticed.)
  const bool noticed = change.lose_size() > 0 && report.primaries_changed() > 0;
  const std::string when = report.served_after_ms() > 0 ? After(report.served_after_ms())
                           : noticed                    ? "once the loss is noticed"
                                                        : "without a break";
  return absl::StrCat("all ", Counted(after.shards(), "shard"), ", ", when);
}

std::string WhenAtRest(const v1::WhatIfReport& report) {
  if (!report.at_rest()) return "not after a day";
  const uint32_t moves = report.loads_begun() + report.primaries_changed() +
                         report.replicas_added() + report.replicas_gone();
  return moves == 0 ? "nothing moves" : After(report.at_rest_after_ms());
}

}  // namespace

std::string ChangeText(const v1::ImaginedChange& change) {
  std::vector<std::string> parts;
  for (const v1::DrainScope& scope : change.lose()) {
    parts.push_back(absl::StrCat("lose ", Shown(ToString(scope))));
  }
  for (const v1::DrainScope& scope : change.drain()) {
    parts.push_back(absl::StrCat("drain ", Shown(ToString(scope))));
  }
  for (const v1::AddedServers& added : change.add()) {
    parts.push_back(absl::StrCat(Servers(added.count()), added.count() == 1 ? " joins" : " join",
                                 added.region().empty() ? "" : " in ", Shown(added.region())));
  }
  if (change.load_factor() != 0 && change.load_factor() != 1) {
    parts.push_back(absl::StrFormat("loads are %g times as high", change.load_factor()));
  }
  if (change.has_spec()) parts.push_back("another spec");
  return parts.empty() ? "none" : absl::StrJoin(parts, "; ");
}

std::string WhatIfText(const v1::AppSnapshot& snapshot, const v1::ImaginedChange& change,
                       const v1::WhatIfReport& report, bool colour) {
  const v1::Outlook& before = report.before();
  const v1::Outlook& after = report.after();
  FieldList fields(colour);
  fields.Add("App", absl::StrCat(Shown(snapshot.app().spec().name()), ", as it was ",
                                 TimeText(snapshot.taken_ms())));
  fields.Add("Change", ChangeText(change));
  fields.Add("Served", {WhenServed(change, report),
                        after.shards_served() < after.shards() ? Tone::kBad : Tone::kGood});
  fields.Add("At rest", {WhenAtRest(report), report.at_rest() ? Tone::kPlain : Tone::kBad});
  fields.Add("Moves", absl::StrFormat(
                          "%d loads of shards begun; %d of %d replicas stand elsewhere or "
                          "are new, %d are no more, %d primaries changed",
                          report.loads_begun(), report.replicas_added(), after.replicas_serving(),
                          report.replicas_gone(), report.primaries_changed()));
  if (report.loads_begun_anyway() > 0) {
    fields.Add("Anyway", absl::StrCat(Counted(report.loads_begun_anyway(), "load"),
                                      " of shards would begin without the change, too"));
  }
  Comparison rows;
  rows.Add("servers live", before.servers_live(), after.servers_live());
  rows.Add("shards served", before.shards_served(), after.shards_served(), true);
  rows.AddLack("shards with too few replicas", before.shards_degraded(), after.shards_degraded());
  rows.Add("replicas serving", before.replicas_serving(), after.replicas_serving(), true);
  if (before.preferences() > 0 || after.preferences() > 0) {
    rows.Add("shards in their preferred region", before.preferences_met(), after.preferences_met(),
             true);
  }
  AddMetrics(before, after, rows);
  AddRegions(before, after, rows);
  std::string text = absl::StrCat(fields.Render(), "\n", rows.Render(colour));
  if (after.conditions_size() > 0) absl::StrAppend(&text, "\nThen:\n");
  for (const std::string& condition : after.conditions()) {
    absl::StrAppend(&text, kIndent, Shown(condition), "\n");
  }
  return text;
}

std::string CapacityText(const v1::AppSnapshot& snapshot, const v1::CapacityQuestion& question,
                         const v1::CapacityReport& report, bool colour) {
  FieldList fields(colour);
  fields.Add("App", absl::StrCat(Shown(snapshot.app().spec().name()), ", as it was ",
                                 TimeText(snapshot.taken_ms())));
  if (question.load_factor() != 0 && question.load_factor() != 1) {
    fields.Add("Loads", absl::StrFormat("%g times as high", question.load_factor()));
  }
  fields.Add("Needed", report.servers_added() == 0
                           ? Cell{"no more servers: any one region may be lost", Tone::kGood}
                           : Cell{absl::StrCat(Counted(report.servers_added(), "more server"),
                                               ", so that any one region may be lost"),
                                  Tone::kWarning});
  Table table({"REGION", "SERVERS", "NEEDED", "FULLEST IF IT IS LOST"});
  for (const v1::RegionCapacity& region : report.regions()) {
    const auto& metrics = region.if_lost().metrics();
    const auto fullest =
        std::max_element(metrics.begin(), metrics.end(),
                         [](const auto& a, const auto& b) { return a.most_pct() < b.most_pct(); });
    const bool known = fullest != metrics.end() && fullest->most_pct() > 0;
    const bool more = region.servers_needed() > region.servers_live();
    table.AddRow({{Shown(region.region())},
                  {absl::StrCat(region.servers_live())},
                  {absl::StrCat(region.servers_needed()), more ? Tone::kWarning : Tone::kPlain},
                  {known ? absl::StrFormat("%s, %.1f %% of %s", Shown(fullest->most_server()),
                                           fullest->most_pct(), Shown(fullest->metric()))
                         : "no server has a capacity"}});
  }
  return absl::StrCat(fields.Render(), "\n", table.Render(colour));
}

}  // namespace shardmanager::cli
