#include "rollout/fleet.h"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

using local::MapView;

constexpr Duration kPatience = Seconds(180);
// A drain takes a fraction of a second here, where others take minutes.
constexpr Duration kReportEvery = Milliseconds(100);

}  // namespace

Fleet::Fleet(FleetOptions options) : options_(std::move(options)), made_(MonotonicNow()) {}

absl::Status Fleet::SetUp(const v1::AppSpec& spec) {
  std::filesystem::remove_all(options_.folder);  // of the run before; nothing else
  std::filesystem::create_directories(options_.folder);
  restarts_.open(options_.restarts);
  log_.open(absl::StrCat(options_.folder, "/managers.log"));
  auto cluster = local::Cluster::Make({.folder = options_.folder, .app = "counter"});
  if (!cluster.ok()) return cluster.status();
  cluster_ = *std::move(cluster);
  std::filesystem::create_directories(cluster_->data_folder());
  if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
  if (absl::Status s = cluster_->admin().Apply(spec).status(); !s.ok()) return s;
  map_ = cluster_->WatchMap();
  map_log_ = std::make_unique<MapLog>(*map_, std::max(1u, spec.replication().replicas()));
  if (absl::Status s = StartServers(); !s.ok()) return s;
  return AwaitBalance();
}

absl::Status Fleet::StartServers() {
  const auto say = [this](const std::string& line) {
    log_ << absl::StrFormat("%.3f %s", InSeconds(MonotonicNow() - made_), line) << std::endl;
  };
  supervisor_ = std::make_unique<local::Supervisor>(local::SupervisorOptions{.say = say});
  for (int i = 1; i <= options_.servers; ++i) {
    absl::Status s = supervisor_->Add(
        {.name = Name(i),
         .region = RegionOf(i),
         .rack = Name(i),
         .command = {cluster_->Bin("counter"), "--app", "counter", "--name", "{name}", "--cell",
                     cluster_->options().cell, "--zookeeper", cluster_->zookeeper_endpoint(),
                     "--listen", "127.0.0.1:0", "--region", "{region}", "--datacenter",
                     "dc-{region}", "--rack", "{rack}", "--data", cluster_->data_folder()},
         .log_file = absl::StrCat(options_.folder, "/", Name(i), ".log")});
    if (!s.ok()) return s;
  }
  const local::ContainerPort port{
      .begin =
          [this](const auto& operation) {
            NoteBegin(operation.container());
            supervisor_->Restart(operation.container());
          },
      .done = [this](const auto& server) { return supervisor_->Settled(server); },
      .is_process = [this](
                        const auto& server,
                        const auto& process) { return supervisor_->IsProcess(server, process); }};
  for (const char* region : kRegions) {
    managers_[region] = std::make_unique<local::ClusterManager>(
        local::ClusterManagerOptions{.name = absl::StrCat("manager-", region),
                                     .app = "counter",
                                     .endpoint = cluster_->admin_endpoint(),
                                     .transport = cluster_->security().transport(),
                                     .say = say,
                                     .report_every = kReportEvery},
        port);
  }
  return absl::OkStatus();
}

absl::Status Fleet::RunUntil(const std::string& what, const std::function<bool()>& so) {
  const TimePoint until = MonotonicNow() + kPatience;
  while (MonotonicNow() < until) {
    Tick();
    if (so()) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::DeadlineExceededError(
      absl::StrCat(what, ": ", map_->view().Describe(), "\n", Delays()));
}

void Fleet::Tick() {
  supervisor_->Tick();
  for (const auto& [region, manager] : managers_) manager->Tick().IgnoreError();  // it tries again
  std::vector<std::string> back;
  for (const auto& [server, begun] : begun_) {
    if (supervisor_->Settled(server)) back.push_back(server);
  }
  for (const std::string& server : back) NoteEnd(server);
  map_log_->Look([this](const std::string& server) { return begun_.contains(server); });
}

void Fleet::NoteBegin(const std::string& server) { begun_.emplace(server, MonotonicNow()); }

void Fleet::NoteEnd(const std::string& server) {
  const int number = std::stoi(server.substr(server.find('-') + 1));
  restarts_ << number << " " << RegionOf(number) << " " << server << " "
            << InSeconds(begun_.at(server) - made_) << " " << InSeconds(MonotonicNow() - made_)
            << std::endl;
  begun_.erase(server);
}

absl::Status Fleet::AwaitBalance() {
  return RunUntil("balance", [this] {
    const MapView view = map_->view();
    const auto counts = view.counts();
    if (!view.all_served() || counts.size() != static_cast<size_t>(options_.servers)) return false;
    const size_t share = map_log_->replicas() / counts.size();
    return map_log_->complete() &&
           std::all_of(counts.begin(), counts.end(),
                       [&](const auto& count) { return count.second >= share; });
  });
}

absl::Status Fleet::Rest() {
  const TimePoint until = MonotonicNow() + Seconds(6);
  return RunUntil("rest", [until] { return MonotonicNow() >= until; });
}

absl::Status Fleet::RestartWithTaskControl(int first, int last) {
  for (int i = first; i <= last; ++i) {
    absl::Status s = managers_.at(RegionOf(i))->Want(v1::RESTART, Name(i), "rollout of version 2");
    if (!s.ok()) return s;
  }
  absl::Status idle = RunUntil("restart", [this] {
    return std::all_of(managers_.begin(), managers_.end(),
                       [](const auto& manager) { return manager.second->idle(); });
  });
  return idle.ok() ? AwaitLive() : idle;
}

absl::Status Fleet::AwaitLive() {
  return RunUntil("live", [this] {
    const auto response = cluster_->admin().GetServers("counter");
    if (!response.ok()) return false;
    return std::all_of(response->servers().begin(), response->servers().end(),
                       [](const v1::ServerStatus& server) { return server.state() == "live"; });
  });
}

absl::Status Fleet::RestartUnasked(int first, int last, int signal,
                                   std::chrono::milliseconds least) {
  const TimePoint not_before = MonotonicNow() + least;
  for (int i = first; i <= last; ++i) {
    NoteBegin(Name(i));
    supervisor_->Restart(Name(i), signal);
  }
  return RunUntil("restart", [&] {
    return begun_.empty() && MonotonicNow() >= not_before && map_->view().all_served();
  });
}

absl::Status Fleet::TakeDown(const std::string& region, Duration length) {
  const TimePoint until = MonotonicNow() + length;
  for (int i = 1; i <= options_.servers; ++i) {
    if (RegionOf(i) != region) continue;
    NoteBegin(Name(i));
    supervisor_->Stop(Name(i), SIGKILL);
  }
  absl::Status down = RunUntil("down", [until] { return MonotonicNow() >= until; });
  if (!down.ok()) return down;
  for (int i = 1; i <= options_.servers; ++i) {
    if (RegionOf(i) == region) supervisor_->Start(Name(i));
  }
  return AwaitLive();
}

size_t Fleet::PrimariesIn(const std::string& region) const {
  size_t primaries = 0;
  for (const auto& [server, count] : map_->view().counts()) {
    if (RegionOf(std::stoi(server.substr(server.find('-') + 1))) == region) primaries += count;
  }
  return primaries;
}

std::string Fleet::Delays() const {
  std::string text;
  for (const auto& [region, manager] : managers_) {
    for (const auto& [server, delay] : manager->delays()) {
      absl::StrAppend(&text, "  ", server, ": ", delay, "\n");
    }
  }
  return text;
}

}  // namespace shardmanager
