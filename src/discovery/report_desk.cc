#include "discovery/report_desk.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "runtime/clock.h"

namespace shardmanager::discovery {

ReportDesk::ReportDesk(Hub& hub)
    : hub_(hub),
      self_(absl::Uniform<uint64_t>(absl::BitGen(), 1, std::numeric_limits<uint64_t>::max())) {}

absl::Status ReportDesk::Take(const v1::ReportServersRequest& report) {
  const AppName name(report.app());
  if (!hub_.Version(name).has_value()) {
    return absl::NotFoundError(
        absl::StrCat("no map of the app \"", report.app().substr(0, 63), "\" is known here"));
  }
  std::lock_guard lock(mutex_);
  App& app = Of(name);
  absl::Status taken = app.here.Take(MonotonicNow(), report);
  TellHub(name, app);
  return taken;
}

v1::ReportServersRequest ReportDesk::Sum(const AppName& name) {
  std::lock_guard lock(mutex_);
  App& app = Of(name);
  app.here.Forget(MonotonicNow());
  TellHub(name, app);
  return app.here.Sum();
}

void ReportDesk::SetSuspectsElsewhere(const AppName& name, std::vector<std::string> suspects) {
  std::lock_guard lock(mutex_);
  App& app = Of(name);
  app.elsewhere = std::move(suspects);
  TellHub(name, app);
}

ReportDesk::App& ReportDesk::Of(const AppName& app) {
  return apps_.try_emplace(app, App{ClientViews(self_), {}}).first->second;
}

void ReportDesk::TellHub(const AppName& name, const App& app) {
  const std::vector<std::string> here = app.here.Suspects();
  std::vector<std::string> all;
  std::set_union(here.begin(), here.end(), app.elsewhere.begin(), app.elsewhere.end(),
                 std::back_inserter(all));
  all.resize(std::min(all.size(), ClientViews::kMostSuspects));
  hub_.SetSuspects(name, std::move(all));
}

}  // namespace shardmanager::discovery
