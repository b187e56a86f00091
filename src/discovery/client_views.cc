#include "discovery/client_views.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace shardmanager::discovery {
namespace {

constexpr size_t kLongestName = 200;

}  // namespace

absl::Status ClientViews::Check(const v1::ReportServersRequest& report) const {
  const auto invalid = [](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  if (report.reporter() == 0) return invalid("reporter: found 0; allowed: another number");
  if (static_cast<size_t>(report.through_size()) > kMostThrough) {
    return invalid("through: found ", report.through_size(), "; allowed: at most ", kMostThrough);
  }
  if (static_cast<size_t>(report.servers_size()) > kMostServers) {
    return invalid("servers: found ", report.servers_size(), "; allowed: at most ", kMostServers);
  }
  absl::flat_hash_set<std::string_view> names;
  for (int i = 0; i < report.servers_size(); ++i) {
    const std::string& name = report.servers(i).server();
    if (name.empty() || name.size() > kLongestName) {
      return invalid("servers[", i, "].server: found ", name.size(), " bytes; allowed: 1 to ",
                     kLongestName);
    }
    if (!names.insert(name).second) {
      return invalid("servers[", i, "].server: found \"", name, "\" again; allowed: each once");
    }
  }
  return absl::OkStatus();
}

absl::Status ClientViews::Take(TimePoint now, const v1::ReportServersRequest& report) {
  if (absl::Status s = Check(report); !s.ok()) return s;
  Forget(now);
  TakeOut(report.reporter());
  Report taken{now + kReportCounts, {}, {report.through().begin(), report.through().end()}};
  const bool ours =
      std::find(taken.through.begin(), taken.through.end(), self_) != taken.through.end();
  if (ours) return absl::OkStatus();
  size_t unknown = 0;
  for (const v1::ServerSeen& seen : report.servers()) {
    const ServerView view = ViewOf(seen);
    if (view == ServerView()) continue;
    unknown += sums_.contains(seen.server()) ? 0 : 1;
    taken.servers.emplace_back(seen.server(), view);
  }
  if (taken.servers.empty()) return absl::OkStatus();
  if (reports_.size() >= kMostReporters || entries_ + taken.servers.size() > kMostEntries ||
      sums_.size() + unknown > kMostServers) {
    return absl::ResourceExhaustedError(absl::StrCat(reports_.size(), " others report of ",
                                                     sums_.size(), " servers: no more are heard"));
  }
  Add(taken);
  renewals_.emplace_back(taken.until, report.reporter());
  reports_[report.reporter()] = std::move(taken);
  return absl::OkStatus();
}

void ClientViews::Add(const Report& report) {
  entries_ += report.servers.size();
  for (const auto& [server, view] : report.servers) sums_[server] += view;
  for (const uint64_t id : report.through) ++through_[id];
}

void ClientViews::TakeOut(uint64_t reporter) {
  const auto found = reports_.find(reporter);
  if (found == reports_.end()) return;
  entries_ -= found->second.servers.size();
  for (const auto& [server, view] : found->second.servers) {
    const auto sum = sums_.find(server);
    if ((sum->second -= view) == ServerView()) sums_.erase(sum);
  }
  for (const uint64_t id : found->second.through) {
    const auto named = through_.find(id);
    if (--named->second == 0) through_.erase(named);
  }
  reports_.erase(found);
}

void ClientViews::Forget(TimePoint now) {
  for (; !renewals_.empty() && renewals_.front().first <= now; renewals_.pop_front()) {
    const uint64_t reporter = renewals_.front().second;
    const auto found = reports_.find(reporter);
    if (found != reports_.end() && found->second.until <= now) TakeOut(reporter);
  }
}

v1::ReportServersRequest ClientViews::Sum() const {
  v1::ReportServersRequest report;
  report.set_reporter(self_);
  report.add_through(self_);
  for (const auto& [id, reports] : through_) {
    if (static_cast<size_t>(report.through_size()) >= kMostThrough) break;
    report.add_through(id);
  }
  for (const auto& [server, view] : sums_) *report.add_servers() = ToProto(server, view);
  return report;
}

std::vector<std::string> ClientViews::Suspects() const {
  std::vector<std::string> suspects;
  for (const auto& [server, view] : sums_) {
    if (suspects.size() == kMostSuspects) break;
    if (view.in_trouble() > 0) suspects.push_back(server);
  }
  return suspects;
}

}  // namespace shardmanager::discovery
