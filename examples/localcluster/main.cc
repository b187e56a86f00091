// A cluster manager for the processes of one machine: see README.md in this folder.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/localcluster/machine.h"
#include "runtime/signals.h"
#include "security/flags.h"
#include "wire/transport.h"

namespace shardmanager::local {
namespace {

constexpr char kAbout[] =
    R"(Runs the servers of an app on this machine, as the cluster managers of several regions would.

Each region has a cluster manager of its own. It starts the region's servers, and starts them again
when they crash. Before it stops one it asks the control plane (task_control.proto), waits until the
answer is GO, and says what it waits for.)";

constexpr char kExample[] =
    R"(
Example, beside a ZooKeeper and a shardmanagerd on this machine, with the app kv applied:
  localcluster --region eu-west=kv-1,kv-2 --region us-east=kv-3,kv-4 --
      kvstore --name {name} --region {region} --rack {rack} --data /tmp/kv
and then type: rollout

In the servers' command line {name}, {region} and {rack} are replaced for each server.
SIGTERM, SIGINT and `quit` stop all servers (SIGTERM, and SIGKILL after --grace), without asking the
control plane.)";

struct Flags {
  Security security;
  MachineOptions machine{.app = "kv",
                         .control_plane = "127.0.0.1:7400",
                         .transport = nullptr,
                         .folder = "localcluster-logs",
                         .rude = false,
                         .supervisor = {}};
  std::vector<std::string> regions;
  std::vector<std::string> command;
  int grace_s = 15;
};

void Say(const std::string& line) {
  const std::string time = absl::FormatTime("%H:%M:%E3S", absl::Now(), absl::LocalTimeZone());
  std::printf("%s %s\n", time.c_str(), line.c_str());
  std::fflush(stdout);
}

// The lines that have come on stdin, without waiting.
class Commands {
 public:
  std::vector<std::string> Take() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (open_ && poll(&input, 1, 0) > 0) {
      char bytes[4096];
      const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
      open_ = count > 0;  // at the end of stdin the servers go on
      if (open_)
        text_.append(bytes, static_cast<size_t>(count));
      else if (!text_.empty())
        text_ += '\n';
    }
    std::vector<std::string> lines;
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      lines.push_back(text_.substr(0, end));
      text_.erase(0, end + 1);
    }
    return lines;
  }

 private:
  bool open_ = true;
  std::string text_;
};

absl::Status AddRegions(const Flags& flags, Machine& machine) {
  for (const std::string& text : flags.regions) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const std::vector<std::string> servers = absl::StrSplit(parts.second, ',', absl::SkipEmpty());
    if (parts.first.empty() || servers.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--region: found \"", text, "\"; allowed: REGION=SERVER[,SERVER...]"));
    }
    absl::Status added = machine.AddRegion(parts.first, servers, flags.command);
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

void RunUntilStopped(Machine& machine, StopSignals& stop) {
  Commands commands;
  while (!stop.WaitFor(std::chrono::milliseconds(50))) {
    for (const std::string& line : commands.Take()) {
      if (line == "quit") return;
      if (const absl::Status status = machine.Command(line); !status.ok()) {
        Say(absl::StrCat("error: ", status.message()));
      }
    }
    machine.Tick();
  }
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli{kAbout};
  cli.footer(absl::StrCat(Machine::kCommandHelp, "\n", kExample));
  // One region each: else the option would take the -- that ends the options.
  cli.add_option(
         "--region", flags.regions,
         "REGION=SERVER[,SERVER...]: a region and the names of its servers; may be repeated")
      ->required()
      ->allow_extra_args(false);
  cli.add_option("--app", flags.machine.app, "The application that the servers belong to")
      ->capture_default_str();
  cli.add_option("--control-plane", flags.machine.control_plane, "A shardmanagerd, HOST:PORT")
      ->capture_default_str();
  cli.add_option("--folder", flags.machine.folder, "Where the servers' output goes, NAME.log")
      ->capture_default_str();
  cli.add_option("--grace", flags.grace_s, "Seconds from SIGTERM until a server is killed")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  cli.add_flag("--rude", flags.machine.rude,
               "Carry commands out at once with SIGKILL, and do not ask the control plane");
  cli.add_option("command", flags.command, "After --: the command line of a server")->required();
  security::AddFlags(cli, flags.security);
  CLI11_PARSE(cli, argc, argv);
  auto transport = wire::Transport::Make(flags.security, "", {security::Anybody()});
  if (!transport.ok()) {
    std::cerr << "error: " << transport.status().message() << "\n";
    return 1;
  }
  flags.machine.transport = *std::move(transport);

  std::error_code error;
  std::filesystem::create_directories(flags.machine.folder, error);
  if (error) {
    std::cerr << "error: --folder: found \"" << flags.machine.folder << "\" (" << error.message()
              << "); allowed: a folder that can be written\n";
    return 1;
  }
  flags.machine.supervisor.grace = Seconds(flags.grace_s);
  flags.machine.supervisor.say = Say;
  StopSignals stop;
  Machine machine(flags.machine);
  const absl::Status added = AddRegions(flags, machine);
  if (added.ok())
    RunUntilStopped(machine, stop);
  else
    std::cerr << "error: " << added.message() << "\n";
  machine.StopAll();
  return added.ok() ? 0 : 1;
}

}  // namespace
}  // namespace shardmanager::local

int main(int argc, char** argv) { return shardmanager::local::Main(argc, argv); }
