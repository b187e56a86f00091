#include "daemon/shardmanagerd_flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/endpoint.h"
#include "daemon/log_flags.h"
#include "shardmanager/version.h"

namespace shardmanager::daemon {
namespace {

constexpr char kExamples[] =
    R"(Examples:
  shardmanagerd --dev                       try it: starts a private ZooKeeper, too
  shardmanagerd --cell prod --zookeeper zk-1:2181,zk-2:2181,zk-3:2181 --listen 10.0.0.5:7400

--listen serves both shardctl (admin) and shard maps (discovery). Standbys send shardctl
on to the leader and fetch maps from it, so each must be reachable at its --advertise.
Logs go to stderr; SM_LOG_LEVEL=debug shows more. SIGTERM hands over to a standby.)";

// A lease is the time-out less two ticks: below this it may end before it is renewed.
constexpr uint32_t kLeastTicks = 4;

absl::Status CheckTiming(const ControlFlags& flags) {
  const uint32_t least = kLeastTicks * flags.zookeeper_tick_ms;
  if (flags.session_timeout_ms >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--session-timeout-ms: found ", flags.session_timeout_ms, "; allowed: at least ",
                   least, ", ", kLeastTicks, " ticks of ", flags.zookeeper_tick_ms,
                   " ms (--zookeeper-tick-ms, which has to be ZooKeeper's tickTime)"));
}

absl::Status CheckEndpoint(const char* flag, const std::string& text, bool to_listen) {
  const std::string wrong = text.empty() ? "" : WhatIsWrongWithEndpoint(text, to_listen);
  return wrong.empty() ? absl::OkStatus()
                       : absl::InvalidArgumentError(absl::StrCat(flag, ": ", wrong));
}

absl::Status CheckEndpoints(const ControlFlags& flags) {
  absl::Status status = CheckEndpoint("--listen", flags.listen, /*to_listen=*/true);
  if (status.ok()) status = CheckEndpoint("--advertise", flags.advertise, /*to_listen=*/false);
  if (status.ok()) status = CheckEndpoint("--metrics-listen", flags.metrics_listen, true);
  const std::string servers = flags.zookeeper.substr(0, flags.zookeeper.find('/'));
  if (EndpointList(servers).empty()) {
    return absl::InvalidArgumentError("--zookeeper: found \"\"; allowed: HOST:PORT[,HOST:PORT...]");
  }
  for (const std::string& server : EndpointList(servers)) {
    if (status.ok()) status = CheckEndpoint("--zookeeper", server, /*to_listen=*/false);
  }
  return status;
}

// Where the ZooKeeper of --dev listens, by --zookeeper.
absl::Status SetDevPort(ControlFlags& flags) {
  const std::string prefix = "127.0.0.1:";
  int& port = flags.dev_port;
  if (flags.zookeeper.starts_with(prefix) &&
      absl::SimpleAtoi(flags.zookeeper.substr(prefix.size()), &port) && port > 0 && port < 65'536) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--zookeeper: found \"", flags.zookeeper,
                   "\"; allowed with --dev: 127.0.0.1:PORT, where the private ZooKeeper listens"));
}

void AddLimitFlags(CLI::App& cli, ControlFlags& flags) {
  cli.add_option(
         "--calls-per-s", flags.calls_per_s,
         "Most calls of the admin API that one identity may make in a second, after a burst "
         "of twice as many; others are refused with RESOURCE_EXHAUSTED. 0: no limit. Shard "
         "maps do not count, nor do certificates for trials")
      ->check(CLI::Range(0, 1'000'000))
      ->group("Security")
      ->capture_default_str();
  cli.add_option("--calls-at-once", flags.calls_at_once,
                 "Most of these calls that one identity may have under way, `shardctl watch` "
                 "included; 0: no limit")
      ->check(CLI::Range(0, 1'000'000))
      ->group("Security")
      ->capture_default_str();
  security::AddStreamsFlag(cli, flags.streams);
}

void AddHistoryFlags(CLI::App& cli, HistoryFlags& flags) {
  cli.add_option("--history", flags.folder,
                 "Folder in which this process keeps what the control plane did, for `shardctl "
                 "history`; off: nowhere. Default: history in systemd's $STATE_DIRECTORY, or with "
                 "--dev in the data folder; else nowhere")
      ->type_name("FOLDER")
      ->group("History");
  cli.add_option("--history-mb", flags.most_mb,
                 "Most megabytes of it: then the oldest go of the kind of events that takes most")
      ->check(CLI::Range(1, 100'000))
      ->group("History")
      ->capture_default_str();
  cli.add_option("--history-days", flags.most_days,
                 "What is older goes, but for changes that somebody asked for")
      ->check(CLI::Range(1, 3'650))
      ->group("History")
      ->capture_default_str();
}

}  // namespace

GivenFlags AddFlags(CLI::App& cli, ControlFlags& flags) {
  GivenFlags given;
  cli.footer(kExamples);
  cli.set_version_flag("--version", SHARDMANAGER_VERSION_TEXT);
  cli.add_option("--cell", flags.cell, "Name of the cell; its records are below /<cell>")
      ->capture_default_str();
  given.zookeeper =
      cli.add_option("--zookeeper", flags.zookeeper,
                     "ZooKeeper, HOST:PORT[,HOST:PORT...]. With --dev: where the private one "
                     "listens, 127.0.0.1:PORT, instead of a free port")
          ->capture_default_str();
  cli.add_option("--zookeeper-credentials", flags.zookeeper_credentials,
                 "File with the cell's ZooKeeper credentials, of mode 0600, as `shardctl cell "
                 "credentials cell` makes it: a cell that is made with it is secure. Default: none")
      ->type_name("FILE");
  cli.add_option("--listen", flags.listen, "Where shardctl and discovery connect, HOST:PORT")
      ->capture_default_str();
  cli.add_option("--advertise", flags.advertise,
                 "Where other processes reach this one, HOST:PORT. Default: --listen, with this "
                 "machine's name for a wildcard address");
  cli.add_option("--metrics-listen", flags.metrics_listen,
                 "Serve Prometheus metrics at http://HOST:PORT/metrics, and /healthz and /readyz. "
                 "HOST: a numeric address. Default: off");
  cli.add_flag("--dev", flags.dev, "Start a private ZooKeeper that goes when this process does");
  cli.add_option("--data-dir", flags.data_dir,
                 "With --dev: where that ZooKeeper keeps its data. Default: a new folder");
  AddConsoleFlags(cli, flags.console);
  AddLogFlags(cli);
  security::AddFlags(cli, flags.security);
  AddLimitFlags(cli, flags);
  AddHistoryFlags(cli, flags.history);
  given.timeout =
      cli.add_option("--session-timeout-ms", flags.session_timeout_ms,
                     "When the cell is made: how long a silent server counts as alive; four "
                     "ticks at least")
          ->check(CLI::Range(400, 600'000))
          ->capture_default_str();
  given.tick = cli.add_option("--zookeeper-tick-ms", flags.zookeeper_tick_ms,
                              "When the cell is made: ZooKeeper's tickTime")
                   ->check(CLI::Range(50, 60'000))
                   ->capture_default_str();
  cli.add_flag("--min-session-timeout-is-set", flags.min_session_timeout_is_set,
               "ZooKeeper's minSessionTimeout was set by hand: do not conclude from it that its "
               "tickTime is larger than the cell's");
  return given;
}

absl::Status CheckFlags(const GivenFlags& given, ControlFlags& flags) {
  if (flags.dev && given.tick->count() == 0) flags.zookeeper_tick_ms = 200;
  if (flags.dev && given.timeout->count() == 0) flags.session_timeout_ms = 3'000;
  flags.timeouts_were_named = given.timeout->count() + given.tick->count() > 0;
  absl::Status status = CheckTiming(flags);
  if (status.ok()) status = CheckEndpoints(flags);
  if (status.ok() && flags.dev && given.zookeeper->count() > 0) status = SetDevPort(flags);
  return status;
}

}  // namespace shardmanager::daemon
