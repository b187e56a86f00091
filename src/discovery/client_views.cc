#include "discovery/client_views.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace shardmanager::discovery {
namespace {

constexpr size_t kLongestName = 200;
constexpr int kMostServers = 10'000;

absl::Status CheckName(const std::string& field, const std::string& name) {
  if (!name.empty() && name.size() <= kLongestName) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": found ", name.size(), " bytes; allowed: 1 to ", kLongestName));
}

absl::Status Check(const v1::ReportServersRequest& report) {
  if (absl::Status s = CheckName("app", report.app()); !s.ok()) return s;
  if (absl::Status s = CheckName("reporter", report.reporter()); !s.ok()) return s;
  if (report.servers_size() > kMostServers) {
    return absl::InvalidArgumentError(absl::StrCat("servers: found ", report.servers_size(),
                                                   "; allowed: at most ", kMostServers));
  }
  absl::flat_hash_set<std::string> names;
  for (int i = 0; i < report.servers_size(); ++i) {
    const v1::ServerSeen& seen = report.servers(i);
    const std::string path = absl::StrCat("servers[", i, "].");
    if (absl::Status s = CheckName(path + "server", seen.server()); !s.ok()) return s;
    if (seen.problem().size() > kLongestName) return CheckName(path + "problem", seen.problem());
    if (!names.insert(seen.server()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, "server: found \"", seen.server(), "\" again; allowed: each once"));
    }
  }
  return absl::OkStatus();
}

uint32_t Add(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

}  // namespace

absl::Status ClientViews::Take(TimePoint now, const v1::ReportServersRequest& report) {
  if (absl::Status s = Check(report); !s.ok()) return s;
  if (report.servers().empty()) {
    const auto app = apps_.find(report.app());
    if (app != apps_.end()) app->second.erase(report.reporter());
    return absl::OkStatus();
  }
  Reports& reports = apps_[report.app()];
  if (reports.size() >= kMostReporters && !reports.contains(report.reporter())) {
    ForgetOld(now, reports);
    if (reports.size() >= kMostReporters) {
      return absl::ResourceExhaustedError(
          absl::StrCat(kMostReporters, " others report of ", report.app(), ": no more are heard"));
    }
  }
  reports[report.reporter()] = {now + kHolds, {report.servers().begin(), report.servers().end()}};
  return absl::OkStatus();
}

std::vector<v1::ServerSeen> ClientViews::Sum(TimePoint now, const std::string& app) {
  const auto found = apps_.find(app);
  if (found == apps_.end()) return {};
  ForgetOld(now, found->second);
  std::map<std::string, v1::ServerSeen> sums;
  for (const auto& [reporter, report] : found->second) {
    for (const v1::ServerSeen& seen : report.servers) {
      v1::ServerSeen& sum = sums[seen.server()];
      sum.set_in_trouble(Add(sum.in_trouble(), seen.in_trouble()));
      sum.set_well(Add(sum.well(), seen.well()));
      // The least of several: the order of reporters is any.
      const bool first = sum.problem().empty() || seen.problem() < sum.problem();
      if (!seen.problem().empty() && first) sum.set_problem(seen.problem());
    }
  }
  std::vector<v1::ServerSeen> servers;
  for (auto& [name, sum] : sums) {
    sum.set_server(name);
    servers.push_back(std::move(sum));
  }
  return servers;
}

std::vector<std::string> ClientViews::Suspects(TimePoint now, const std::string& app) {
  std::vector<std::string> suspects;
  for (const v1::ServerSeen& seen : Sum(now, app)) {
    if (seen.in_trouble() > 0) suspects.push_back(seen.server());
  }
  return suspects;
}

std::vector<std::string> ClientViews::Apps(TimePoint now) {
  std::vector<std::string> names;
  for (auto app = apps_.begin(); app != apps_.end();) {
    ForgetOld(now, app->second);
    if (app->second.empty()) {
      app = apps_.erase(app);
    } else {
      names.push_back((app++)->first);
    }
  }
  return names;
}

void ClientViews::ForgetOld(TimePoint now, Reports& reports) {
  absl::erase_if(reports, [&](const auto& entry) { return entry.second.until <= now; });
}

}  // namespace shardmanager::discovery
