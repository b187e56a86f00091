#include "discovery/report_desk.h"

#include <set>
#include <utility>

#include "runtime/clock.h"

namespace shardmanager::discovery {

absl::StatusOr<v1::ReportServersResponse> ReportDesk::Take(const v1::ReportServersRequest& report) {
  std::lock_guard lock(mutex_);
  const TimePoint now = MonotonicNow();
  if (absl::Status taken = views_.Take(now, report); !taken.ok()) return taken;
  const std::vector<std::string> here = views_.Suspects(now, report.app());
  std::set<std::string> suspects(here.begin(), here.end());
  if (const auto found = elsewhere_.find(report.app()); found != elsewhere_.end()) {
    suspects.insert(found->second.begin(), found->second.end());
  }
  v1::ReportServersResponse response;
  response.mutable_suspects()->Assign(suspects.begin(), suspects.end());
  return response;
}

std::vector<v1::ServerSeen> ReportDesk::Sum(const AppName& app) {
  std::lock_guard lock(mutex_);
  return views_.Sum(MonotonicNow(), app.value());
}

void ReportDesk::SetSuspectsElsewhere(const AppName& app, std::vector<std::string> suspects) {
  std::lock_guard lock(mutex_);
  if (suspects.empty()) {
    elsewhere_.erase(app.value());
  } else {
    elsewhere_[app.value()] = std::move(suspects);
  }
}

}  // namespace shardmanager::discovery
