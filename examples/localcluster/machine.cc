#include "examples/localcluster/machine.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/admin_client.h"
#include "cli/time_text.h"
#include "runtime/clock.h"

namespace shardmanager::local {

const char Machine::kCommandHelp[] =
    R"(Commands, one a line on stdin:
  restart SERVER...    restart these servers as soon as the control plane allows it
  rollout [REASON]     restart all servers of all regions
  stop SERVER...       stop them, and leave them stopped
  start SERVER...      start them again
  move SERVER RACK     start the server again in another rack
  kill SERVER...       SIGKILL, without asking: a crash; the server starts again after a wait
  maintenance REGION IN FOR
                       give notice that the region's processes end IN from now (SIGKILL, all at
                       once), and start again FOR later, and carry that out: maintenance eu-west 1m 30s
  status               the servers, and what waits
  help                 these lines
  quit                 stop everything, as SIGTERM does)";

Machine::Machine(MachineOptions options)
    : options_(std::move(options)), supervisor_(options_.supervisor) {}

absl::Status Machine::AddRegion(const std::string& region, const std::vector<std::string>& servers,
                                const std::vector<std::string>& command) {
  if (managers_.contains(region)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--region: found \"", region, "\" twice; allowed: each region once"));
  }
  const ContainerPort port{
      .begin = [this](const auto& operation) { Begin(operation); },
      .done = [this](const auto& server) { return supervisor_.Settled(server); },
      .is_process = [this](const auto& server,
                           const auto& process) { return supervisor_.IsProcess(server, process); }};
  managers_[region] = std::make_unique<ClusterManager>(
      ClusterManagerOptions{.name = absl::StrCat("localcluster-", region),
                            .app = options_.app,
                            .endpoint = options_.control_plane,
                            .transport = options_.transport,
                            .say = options_.supervisor.say},
      port);
  for (const std::string& server : servers) {
    absl::Status added =
        supervisor_.Add({.name = server,
                         .region = region,
                         .rack = absl::StrCat("rack-of-", server),
                         .command = command,
                         .log_file = absl::StrCat(options_.folder, "/", server, ".log")});
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status Machine::Command(const std::string& line) {
  std::vector<std::string> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty()) return absl::OkStatus();
  const std::string verb = words.front();
  words.erase(words.begin());
  if (verb == "restart") return WantAll(v1::RESTART, words, "restart by hand");
  if (verb == "stop") return WantAll(v1::STOP, words, "stop by hand");
  if (verb == "start") return WantAll(v1::START, words, "start by hand");
  if (verb == "rollout") {
    const std::string reason = words.empty() ? "rollout" : absl::StrJoin(words, " ");
    return WantAll(v1::RESTART, supervisor_.names(), reason);
  }
  if (verb == "move") return Move(words);
  if (verb == "maintenance") return Maintain(words);
  if (verb == "kill") {
    if (absl::Status checked = Check(words); !checked.ok()) return checked;
    for (const std::string& server : words) supervisor_.Crash(server);
    return absl::OkStatus();
  }
  if (verb == "status")
    Say(Status());
  else if (verb == "help")
    Say(kCommandHelp);
  else
    return absl::InvalidArgumentError(
        absl::StrCat("command: found \"", verb,
                     "\"; allowed: restart, rollout, stop, start, move, kill, "
                     "maintenance, status, help, quit"));
  return absl::OkStatus();
}

absl::Status Machine::Move(const std::vector<std::string>& words) {
  if (words.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("move: found ", words.size(), " words after it; allowed: move SERVER RACK"));
  }
  if (absl::Status checked = Check({words[0]}); !checked.ok()) return checked;
  new_racks_[words[0]] = words[1];
  return WantAll(v1::MOVE, {words[0]}, absl::StrCat("move to ", words[1]));
}

absl::Status Machine::Maintain(const std::vector<std::string>& words) {
  const auto in = words.size() == 3 ? cli::ParseAge(words[1]) : std::nullopt;
  const auto length = words.size() == 3 ? cli::ParseAge(words[2]) : std::nullopt;
  if (!in || !length || length->count() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("maintenance: found \"", absl::StrJoin(words, " "),
                     "\"; allowed: REGION IN FOR, with times such as 30s or 10m"));
  }
  const std::string& region = words[0];
  if (!managers_.contains(region)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "region: found \"", region,
        "\"; allowed: ", absl::StrJoin(managers_, ", ", [](std::string* out, const auto& entry) {
          out->append(entry.first);
        })));
  }
  if (!options_.rude) {
    if (absl::Status given = GiveNotice(region, *in, *length); !given.ok()) return given;
  }
  const TimePoint begins = MonotonicNow() + Milliseconds(in->count());
  outages_.push_back({region, begins, begins + Milliseconds(length->count())});
  Say(absl::StrCat(region, ": a maintenance begins in ", words[1], ", for ", words[2],
                   options_.rude ? " (nobody was told)" : "; the control plane has notice"));
  return absl::OkStatus();
}

absl::Status Machine::GiveNotice(const std::string& region, std::chrono::milliseconds in,
                                 std::chrono::milliseconds length) const {
  const int64_t now_ms = WallMilliseconds();
  v1::AddMaintenanceRequest request;
  v1::Maintenance& notice = *request.mutable_maintenance();
  notice.set_id(absl::StrCat("localcluster-", now_ms));
  notice.mutable_scope()->mutable_domain()->set_region(region);
  notice.set_impact(v1::RUNTIME_STATE_LOSS);
  notice.set_start_ms(now_ms + in.count());
  notice.set_end_ms(notice.start_ms() + length.count());
  notice.set_reason("maintenance by hand");
  cli::AdminClient control_plane({.server = options_.control_plane,
                                  .timeout = std::chrono::seconds(2),
                                  .operation = notice.id()},
                                 options_.transport);
  return control_plane.AddMaintenance(request).status();
}

void Machine::CarryOutages() {
  const TimePoint now = MonotonicNow();
  for (Outage& outage : outages_) {
    if (outage.begun || now < outage.begins) continue;
    outage.begun = true;
    Say(absl::StrCat(outage.region, ": the maintenance begins"));
    for (const std::string& server : ServersOf(outage.region)) supervisor_.Stop(server, SIGKILL);
  }
  std::erase_if(outages_, [&](const Outage& outage) {
    if (now < outage.ends) return false;
    Say(absl::StrCat(outage.region, ": the maintenance is over"));
    for (const std::string& server : ServersOf(outage.region)) supervisor_.Start(server);
    return true;
  });
}

std::vector<std::string> Machine::ServersOf(const std::string& region) const {
  std::vector<std::string> servers;
  for (const std::string& server : supervisor_.names()) {
    if (supervisor_.container(server).region == region) servers.push_back(server);
  }
  return servers;
}

absl::Status Machine::Check(const std::vector<std::string>& servers) const {
  if (servers.empty()) {
    return absl::InvalidArgumentError("command: found no server; allowed: one or more servers");
  }
  for (const std::string& server : servers) {
    if (supervisor_.Has(server)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "server: found \"", server, "\"; allowed: ", absl::StrJoin(supervisor_.names(), ", ")));
  }
  return absl::OkStatus();
}

absl::Status Machine::WantAll(v1::OperationKind kind, const std::vector<std::string>& servers,
                              const std::string& reason) {
  if (absl::Status checked = Check(servers); !checked.ok()) return checked;
  for (const auto& [region, manager] : managers_) manager->BeginRollout();  // for each command
  for (const std::string& server : servers) {
    if (absl::Status wanted = Want(kind, server, reason); !wanted.ok()) return wanted;
  }
  return absl::OkStatus();
}

absl::Status Machine::Want(v1::OperationKind kind, const std::string& server,
                           const std::string& reason) {
  if (!options_.rude) {
    return managers_.at(supervisor_.container(server).region)->Want(kind, server, reason);
  }
  v1::ContainerOperation operation;
  operation.set_kind(kind);
  operation.set_container(server);
  Begin(operation);
  return absl::OkStatus();
}

void Machine::Begin(const v1::ContainerOperation& operation) {
  const std::string& server = operation.container();
  const int signal = options_.rude ? SIGKILL : SIGTERM;
  switch (operation.kind()) {
    case v1::START:
      return supervisor_.Start(server);
    case v1::STOP:
      return supervisor_.Stop(server, signal);
    case v1::MOVE:
      return supervisor_.Move(server, new_racks_[server], signal);
    default:
      return supervisor_.Restart(server, signal);
  }
}

void Machine::Tick() {
  CarryOutages();
  supervisor_.Tick();
  if (options_.rude) return;
  std::string problem;
  for (const auto& [region, manager] : managers_) {
    const absl::Status status = manager->Tick();
    // OK also means that it was not yet time to report.
    if (!status.ok()) problem = absl::StrCat(manager->name(), ": ", status.ToString());
  }
  if (problem.empty() || problem == problem_) return;
  Say(absl::StrCat(problem, " (nothing is stopped meanwhile; reports go on)"));
  problem_ = problem;
}

std::string Machine::Status() const {
  std::string text;
  for (const std::string& server : supervisor_.names()) {
    absl::StrAppend(&text, supervisor_.Describe(server), "\n");
  }
  for (const auto& [region, manager] : managers_) {
    absl::StrAppend(&text, manager->name(), ": ", manager->waiting(), " operations under way\n");
    for (const auto& [server, delay] : manager->delays()) {
      absl::StrAppend(&text, "  ", server, ": ", delay, "\n");
    }
  }
  if (!text.empty()) text.pop_back();
  return text;
}

void Machine::Say(const std::string& line) const {
  if (options_.supervisor.say) options_.supervisor.say(line);
}

}  // namespace shardmanager::local
