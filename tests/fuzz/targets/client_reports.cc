// What anybody may say of servers: it is refused, or counts until it is taken back or too old.
#include <string>
#include <vector>

#include "discovery/client_views.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {
namespace {

using discovery::ClientViews;

v1::ReportServersRequest ReportFrom(fuzz::FuzzInput& input) {
  v1::ReportServersRequest report;
  report.set_reporter(input.Below(8));
  for (uint32_t left = input.Below(3); left > 0; --left) report.add_through(input.Below(8));
  for (uint32_t left = input.Below(6); left > 0; --left) {
    v1::ServerSeen& seen = *report.add_servers();
    seen.set_server(input.Text(3));
    seen.set_no_connection(static_cast<uint32_t>(input.Number()));
    seen.set_slow(static_cast<uint32_t>(input.Number()));
    seen.set_well(static_cast<uint32_t>(input.Number()));
  }
  return report;
}

void CheckSums(const ClientViews& views) {
  const v1::ReportServersRequest sum = views.Sum();
  size_t suspects = 0;
  std::string last;
  for (const v1::ServerSeen& seen : sum.servers()) {
    SM_CHECK(last < seen.server(), "ascending, each once");
    SM_CHECK(ViewOf(seen) != ServerView(), "only those that somebody speaks of");
    suspects += ViewOf(seen).in_trouble() > 0 ? 1 : 0;
    last = seen.server();
  }
  SM_CHECK(views.Suspects().size() == suspects, "the suspects are those in trouble");
  SM_CHECK(views.reporters() > 0 || sum.servers().empty(), "nobody says nothing");
}

}  // namespace

SM_FUZZ_TARGET(client_reports) {
  ClientViews views(/*self=*/7);
  TimePoint now{};
  while (!input.empty()) {
    now += Seconds(input.Below(8));
    const bool taken = views.Take(now, ReportFrom(input)).ok();
    (void)taken;
    CheckSums(views);
  }
  views.Forget(now + kReportCounts);
  SM_CHECK(views.Sum().servers().empty() && views.reporters() == 0, "all is forgotten in the end");
}

}  // namespace shardmanager
