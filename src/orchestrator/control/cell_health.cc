#include "orchestrator/control/cell_health.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/control/container_operations.h"
#include "orchestrator/describe/problems.h"

namespace shardmanager::orchestrator {
namespace {

void AddProblems(std::vector<v1::Problem> added, const std::string& app,
                 std::vector<v1::Problem>& all) {
  for (v1::Problem& problem : added) {
    problem.set_app(app);
    all.push_back(std::move(problem));
  }
}

// Of records, which the driver knows. `path`: of its container operations.
std::vector<v1::Problem> ProblemsOfRecords(const PartitionDriver& driver, const std::string& path) {
  std::vector<v1::Problem> all;
  if (driver.state() == nullptr) {
    all.push_back(ProblemOf(
        v1::Problem::CRITICAL, "RecordsUnread",
        driver.problem().ok()
            ? "its records are being read: nothing is decided, and what it serves is not known"
            : absl::StrCat("its records cannot be read: nothing is decided: ",
                           std::string(driver.problem().message()))));
  }
  for (const std::string& line : driver.damaged().Describe()) {
    all.push_back(ProblemOf(v1::Problem::WARNING, "RecordDamaged", line));
  }
  if (std::string unread = OperationsUnread(driver, path); !unread.empty()) {
    all.push_back(ProblemOf(v1::Problem::WARNING, "OperationsUnread", std::move(unread)));
  }
  return all;
}

void SortAndBound(std::vector<v1::Problem>& problems) {
  std::stable_sort(problems.begin(), problems.end(),
                   [](const auto& a, const auto& b) { return a.severity() > b.severity(); });
  if (problems.size() <= kMostProblems) return;
  const size_t more = problems.size() - kMostProblems;
  const v1::Problem::Severity worst = problems[kMostProblems].severity();
  problems.resize(kMostProblems);
  problems.push_back(ProblemOf(
      worst, "MoreProblems", absl::StrCat("and ", ::shardmanager::Counted(more, "other problem"))));
}

AppNow LookAtApp(LedApps& apps, const std::string& name, const Paths& paths, TimePoint now,
                 std::vector<v1::Problem>& problems) {
  const PartitionDriver& driver = *apps.drivers().at(name);
  AppNow app{.name = name};
  app.map = driver.map_version();
  AddProblems(ProblemsOfRecords(driver, paths.operations(AppName(name))), name, problems);
  const PartitionState* state = driver.state();
  if (state == nullptr) return app;
  app.known = true;
  const Health health = apps.LookAtHealth(name, now);
  app.health = health.counts;
  app.shards = static_cast<uint32_t>(state->map_order.size());
  app.replicas_wanted = health.replicas_wanted;
  app.replicas_serving = health.replicas_serving;
  AddProblems(ProblemsOf(*state, app.health, now), name, problems);
  return app;
}

}  // namespace

CellHealth LookAtLead(const CellSession& session, const Leadership& leadership, LedApps& apps,
                      TimePoint now) {
  CellHealth cell{.cell = session.cell().cell(),
                  .in_touch = leadership.InTouch(),
                  .connected = session.connected(),
                  .silent_for = std::max(Duration(0), leadership.SilentFor()),
                  .session_age = session.AgeAt(now),
                  .led_for = leadership.LedFor()};
  const bool leads = apps.begun() && leadership.epoch().has_value();
  cell.leading = leads && cell.in_touch;
  if (leadership.leader() && (cell.in_touch || !leads)) {
    cell.leader_epoch = leadership.leader()->epoch();
  }
  if (leadership.epoch()) cell.leader_epoch = leadership.epoch()->value();
  if (cell.in_touch && leadership.leader()) cell.leader = leadership.leader()->endpoint();
  return cell;
}

CellHealth LookAtCell(const CellSession& session, const Leadership& leadership, LedApps& apps,
                      TimePoint now) {
  CellHealth cell = LookAtLead(session, leadership, apps, now);
  if (!cell.leading) return cell;
  for (const auto& [name, driver] : apps.drivers()) {
    if (!driver->spec().has_spec() && driver->problem().ok()) continue;
    cell.apps.push_back(LookAtApp(apps, name, session.paths(), now, cell.problems));
  }
  SortAndBound(cell.problems);
  return cell;
}

}  // namespace shardmanager::orchestrator
