// Runs seeds, one after another or one in detail: scripts/simulate.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/defect.h"
#include "tests/simulation/simulation.h"

namespace shardmanager::simulation {
namespace {

struct Flags {
  uint64_t seeds = 100;
  uint64_t from = 1;
  std::optional<uint64_t> replay;
  int servers = 0;
  int shards = 0;
  int chaos_seconds = 60;
  bool calm = false;
  bool log = false;
  bool strict = false;
};

SimulationOptions OptionsOf(const Flags& flags, uint64_t seed) {
  return {.seed = seed,
          .servers = flags.servers,
          .shards = flags.shards,
          .chaos = Seconds(flags.chaos_seconds),
          .faults = !flags.calm,
          .strict_restarts = flags.strict};
}

int Replay(const Flags& flags) {
  SimulationOptions options = OptionsOf(flags, *flags.replay);
  options.trace = [](const std::string& line) { std::cout << line << "\n"; };
  options.log = flags.log;
  const SimulationResult result = Simulate(options);
  std::cout << absl::StrFormat("seed %d: %s; digest %016x\n", options.seed,
                               result.violation.empty() ? "no violation" : result.violation,
                               result.digest);
  return result.violation.empty() ? 0 : 1;
}

int RunSeeds(const Flags& flags) {
  const auto begun = std::chrono::steady_clock::now();
  Duration simulated{};
  uint64_t violations = 0;
  uint64_t events = 0;
  uint64_t faults = 0;
  for (uint64_t seed = flags.from; seed < flags.from + flags.seeds; ++seed) {
    const SimulationResult result = Simulate(OptionsOf(flags, seed));
    simulated += result.simulated;
    events += result.events;
    faults += result.faults;
    if (!result.violation.empty()) {
      ++violations;
      std::cout << absl::StrFormat(
                       "seed %d: %s\n  again, in detail: scripts/simulate --replay %d\n", seed,
                       result.violation, seed)
                << std::flush;
    }
    const uint64_t done = seed - flags.from + 1;
    if (done % 100 == 0) std::cerr << done << " of " << flags.seeds << " seeds\n";
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  const double hours = static_cast<double>(simulated / Seconds(1)) / 3600;
  std::cout << absl::StrFormat(
      "%d seeds, %d violations; %d faults, %d events; %.1f simulated hours in %.1f s: "
      "%.1f hours a minute, %.0f times real time\n",
      flags.seeds, violations, faults, events, hours, took.count(), hours / (took.count() / 60),
      hours * 3600 / took.count());
  return violations == 0 ? 0 : 1;
}

}  // namespace

int Main(int argc, char** argv) {
  CLI::App app("Runs whole cells on virtual time under faults, and checks the invariants.",
               "simulate");
  Flags flags;
  app.add_option("--seeds", flags.seeds, "How many.")->capture_default_str();
  app.add_option("--from", flags.from, "The first one.")->capture_default_str();
  app.add_option("--replay", flags.replay, "This seed only, with a trace of what happens.");
  app.add_option("--servers", flags.servers, "0: drawn from the seed.")->capture_default_str();
  app.add_option("--shards", flags.shards, "0: drawn from the seed.")->capture_default_str();
  app.add_option("--chaos-seconds", flags.chaos_seconds, "How long faults come, in virtual time.")
      ->capture_default_str();
  app.add_flag("--calm", flags.calm, "No faults: how fast is the simulation itself?");
#ifdef SM_DEFECTS
  std::map<std::string, Defect> defects;
  for (const DefectName& d : kDefects) defects.emplace(d.name, d.defect);
  for (const DefectName& d : kTaskDefects) defects.emplace(d.name, d.defect);
  std::vector<std::string> names;
  for (const auto& [name, defect] : defects) names.push_back(name);
  app.add_option_function<std::string>(
         "--defect", [&](const std::string& name) { planted_defect = defects.at(name); },
         "Plant this one (base/defect.h).")
      ->check(CLI::IsMember(names));
#endif
  app.add_flag(
      "--strict-restarts", flags.strict,
      "Checks what a restart takes away during the faults, too; a leader that has not heard "
      "of a loss yet fails that check.");
  app.add_flag("--log", flags.log, "With --replay: with the log of all programs.")
      ->needs("--replay");
  CLI11_PARSE(app, argc, argv);
  spdlog::set_level(spdlog::level::off);
  return flags.replay ? Replay(flags) : RunSeeds(flags);
}

}  // namespace shardmanager::simulation

int main(int argc, char** argv) { return shardmanager::simulation::Main(argc, argv); }
