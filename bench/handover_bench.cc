// What do clients feel of a handover, and how many go in a second? scripts/bench handover
//
// Real ZooKeeper, one shardmanagerd, one shard-discoveryd, processes of the counter example.
#include "handover_bench.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "absl/strings/str_replace.h"

namespace shardmanager {
namespace {

int Main(int argc, char** argv) {
  HandoverFlags flags;
  std::string only;
  bool both = false;
  CLI::App cli("Hands shards over: one under load, and many at once.");
  cli.add_option("--only", only, "hold or rate")->check(CLI::IsMember({"hold", "rate"}));
  cli.add_option("--moves", flags.moves, "hold: of the one shard, one every 5.6 s")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cli.add_option("--calls-per-s", flags.calls_per_s, "hold: to the one shard")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cli.add_option("--servers", flags.servers, "rate")->check(CLI::Range(12, 1'000));
  cli.add_option("--shards", flags.shards, "rate")->check(CLI::PositiveNumber);
  cli.add_option("--rounds", flags.rounds, "rate: drains of six servers, after a first one of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cli.add_flag("--both", both, "Once without TLS, too: figures that begin with insecure_");
  cli.add_flag("--callback", flags.callback, "Servers use gRPC's callback API");
  cli.add_option("--folder", flags.folder, "Data and logs; kept")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);

  std::vector<std::string> figures;
  using Part = absl::StatusOr<std::vector<std::string>> (*)(const HandoverFlags&);
  const std::pair<const char*, Part> parts[] = {{"hold", MeasureHold}, {"rate", MeasureRate}};
  for (const auto& [name, measure] : parts) {
    if (!only.empty() && only != name) continue;
    for (const bool insecure : {true, false}) {
      if (insecure && !both) continue;
      flags.insecure = insecure;
      const auto measured = measure(flags);
      if (!measured.ok()) {
        std::cerr << "error: " << name << ": " << measured.status() << "\n";
        return 1;
      }
      for (const std::string& figure : *measured) {
        figures.push_back(insecure ? absl::StrReplaceAll(figure, {{"FIGURE ", "FIGURE insecure_"}})
                                   : figure);
      }
    }
  }
  for (const std::string& figure : figures) std::printf("%s\n", figure.c_str());
  return 0;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
