// How a cell follows the world: scripts/bench geo [--only
// region-loss|follow|demand|scaling|what-if]. What each part does and measures: scenarios.h. The
// pictures:
//   for p in region-loss follow demand scaling; do
//     gnuplot -e "folder='build/geo/$p'; picture='docs/performance/$p.svg'" bench/geo/$p.gnuplot
//   done
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

#include "geo/caller.h"
#include "geo/counting_server.h"
#include "geo/scenarios.h"

namespace shardmanager {
namespace {

using Scenario = absl::Status (*)(const GeoFlags&, Figures&);

const std::map<std::string, Scenario>& Scenarios() {
  static const std::map<std::string, Scenario> kScenarios = {{"demand", RunDemand},
                                                             {"follow", RunFollow},
                                                             {"region-loss", RunRegionLoss},
                                                             {"scaling", RunScaling},
                                                             {"what-if", RunWhatIf}};
  return kScenarios;
}

int Main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return RunCountingServer(argc - 1, argv + 1);
  if (role == "call") return RunCaller(argc - 1, argv + 1);
  GeoFlags flags;
  std::string only;
  CLI::App cli("Regions that go and come back, partners that move, loads that rise and fall.");
  cli.add_option("--only", only, "One of them: region-loss, follow, demand, scaling, what-if")
      ->check(CLI::IsMember(Scenarios()));
  cli.add_option("--servers", flags.servers, "Of each region (follow and demand: a quarter of it)")
      ->check(CLI::Range(2, 50))
      ->capture_default_str();
  cli.add_option("--shards", flags.shards, "Of region-loss, follow and what-if")
      ->check(CLI::Range(40, 10'000))
      ->capture_default_str();
  cli.add_option("--day", flags.day_s, "Of scaling: seconds")
      ->check(CLI::Range(60, 3'600))
      ->capture_default_str();
  cli.add_option("--folder", flags.folder, "Data, logs and samples; a folder in it for each part")
      ->capture_default_str();
  CLI11_PARSE(cli, argc, argv);

  Figures figures;
  absl::Status status;
  for (const auto& [name, run] : Scenarios()) {
    if (!status.ok() || (!only.empty() && only != name)) continue;
    GeoFlags own = flags;
    own.folder += "/" + name;
    status = run(own, figures);
    if (!status.ok()) std::cerr << "error: " << name << ": " << status << "\n";
  }
  for (const std::string& figure : figures) std::printf("%s\n", figure.c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
