// The first run: see scripts/quickstart.
#include <CLI/CLI.hpp>
#include <iostream>

#include "runtime/signals.h"
#include "story.h"

namespace {

int Run(quickstart::Story& story, bool keep) {
  absl::Status status = story.SetUp();
  if (status.ok()) status = story.LoadWhileThingsGoWrong();
  if (status.ok()) status = story.ReadBack();
  if (absl::IsCancelled(status)) return 130;  // as a shell reports SIGINT
  if (!status.ok()) {
    std::cerr << "error: " << status.message() << "\n" << story.Logs();
    return 1;
  }
  const bool good = story.Report();
  if (!good) std::cerr << story.Logs();
  if (keep) story.Keep();
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  quickstart::StoryOptions options;
  bool keep = false;
  CLI::App cli{
      "Starts a private cluster (ZooKeeper, shardmanagerd, shard-discoveryd, six kvstore "
      "servers),\n"
      "loads words through the router while a server is killed, one is added and the control\n"
      "plane is down for ten seconds, then reads every word back."};
  cli.add_flag("--keep", keep, "Leave the cluster up afterwards, until Ctrl-C");
  cli.add_option("--words", options.words, "A file with one key a line")->capture_default_str();
  cli.add_option("--spec", options.spec, "The application's spec")->capture_default_str();
  cli.add_option("--folder", options.folder,
                 "Data and logs; kept. Default: a temporary one, removed at the end");
  cli.add_flag("--insecure", options.insecure,
               "Connections without TLS. Default: with certificates for trials");
  cli.add_option("--threads", options.threads, "Client threads")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  cli.add_option("--seconds", options.seconds, "How long the load takes")
      ->check(CLI::Range(20, 3600))
      ->capture_default_str();
  CLI11_PARSE(cli, argc, argv);

  shardmanager::StopSignals stop;
  quickstart::Story story(options, stop);
  return Run(story, keep);
}
