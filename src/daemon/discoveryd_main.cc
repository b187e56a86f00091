// shard-discoveryd: hears shard maps upstream and serves them downstream.
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "daemon/log_flags.h"
#include "daemon/refusal_metrics.h"
#include "daemon/relay_health.h"
#include "daemon/relay_metrics.h"
#include "runtime/logging.h"
#include "runtime/metrics.h"
#include "runtime/metrics_server.h"
#include "runtime/process_metrics.h"
#include "runtime/signals.h"
#include "security/flags.h"
#include "wire/discovery_relay.h"
#include "wire/discovery_service.h"
#include "wire/transport.h"

namespace shardmanager {
namespace {

constexpr char kAbout[] =
    R"(Serves shard maps to routers, so that shardmanagerd need not serve them all.

It subscribes upstream to an app when the first router asks for it, and serves the same
protocol downstream: put as many side by side as there are routers to serve (give routers
all their addresses), and stack them where one upstream has too many to serve. It keeps
no state: with the upstream gone it goes on serving the last map, and a restart fetches
everything again.)";

constexpr char kExamples[] =
    R"(Examples:
  shard-discoveryd                                   upstream and listening on this machine
  shard-discoveryd --upstream sm-1:7400,sm-2:7400 --listen 0.0.0.0:7401
  shard-discoveryd --upstream relay-eu:7401 --listen 0.0.0.0:7402    a relay of a relay

Logs go to stderr; SM_LOG_LEVEL=debug shows more. SIGTERM stops it; routers turn to
another one, or go on with the map they have.)";

struct Flags {
  std::string upstream = "127.0.0.1:7400";
  std::string listen = "127.0.0.1:7401";
  std::string metrics_listen;
  uint32_t streams = 10'000;
  Security security;
};

using TransportPtr = std::shared_ptr<const wire::Transport>;

wire::DiscoveryClientOptions Upstream(const Flags& flags, const TransportPtr& transport) {
  wire::DiscoveryClientOptions options;
  options.transport = transport;
  options.endpoints = EndpointList(flags.upstream);
  options.kind = v1::SUBSCRIBER_RELAY;
  return options;
}

wire::ServerAndPort Listen(const wire::Transport& transport, const std::string& address,
                           wire::DiscoveryService& service) {
  int port = 0;
  grpc::ServerBuilder builder;
  wire::PrepareForSubscribers(builder);
  auto mixed = transport.ListenAt(address, {security::Anybody()}, builder, &port);
  builder.RegisterService(service.service());
  wire::ServerAndPort serving = wire::StartWith(std::move(mixed), builder);
  if (serving.server == nullptr || port == 0) {
    serving.server = nullptr;
    std::fprintf(stderr,
                 "error: cannot listen on %s: is the port taken, or not an address of this "
                 "machine? (--listen HOST:PORT)\n",
                 address.c_str());
    return serving;
  }
  spdlog::info("this process is {}", transport.About());
  spdlog::info("serving shard maps on port {}", port);
  return serving;
}

int Serve(const Flags& flags, const TransportPtr& transport) {
  StopSignals signals;
  Metrics metrics;
  const auto limits =
      std::make_shared<security::Limits>(security::Limits::Options{.streams = flags.streams});
  daemon::RelayMetrics shown(metrics);
  daemon::RefusalMetrics refusals(metrics, limits);
  const auto process_metrics = metrics.AddSource(ProcessMetrics);
  daemon::RelayHealth health;
  std::unique_ptr<MetricsServer> metrics_server;
  if (!flags.metrics_listen.empty()) {
    auto started = MetricsServer::Start(flags.metrics_listen, metrics, health.health());
    if (!started.ok()) {
      std::fprintf(stderr, "error: %s\n", std::string(started.status().message()).c_str());
      return 1;
    }
    metrics_server = std::move(*started);
  }
  wire::DiscoveryRelay relay(Upstream(flags, transport));
  relay.hub().on_ahead = [](const AppName& app, MapVersion known) {
    spdlog::warn(
        "a subscriber holds map {} of {}, by a later leader than any that was heard of here: "
        "upstream is behind, or ZooKeeper was restored and its epochs were not raised",
        known.ToString(), app.value());
  };
  wire::DiscoveryService service(
      relay.hub(),
      {.reports = &relay.reports(), .gate = wire::Gate(transport, /*policies=*/nullptr, limits)});
  const wire::ServerAndPort serving = Listen(*transport, flags.listen, service);
  if (serving.server == nullptr) return 1;

  constexpr std::chrono::milliseconds kMetricsPeriod(1'000);
  do {
    const wire::DiscoveryRelay::Stats stats = relay.stats();
    refusals.Show();
    shown.Show(stats, service);
    health.Look(
        {.apps = stats.apps, .apps_connected = stats.apps_connected, .updates = stats.updates});
  } while (!signals.WaitFor(kMetricsPeriod));

  spdlog::info("stopping");
  health.Stop();
  service.EndStreams();
  serving.server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return 0;
}

// "": nothing.
std::string WhatIsWrong(const Flags& flags) {
  const std::vector<std::string> upstream = EndpointList(flags.upstream);
  if (upstream.empty()) return "--upstream names no endpoint; allowed: HOST:PORT[,...]";
  for (const std::string& endpoint : upstream) {
    const std::string wrong = WhatIsWrongWithEndpoint(endpoint);
    if (!wrong.empty()) return "--upstream: " + wrong;
  }
  const std::string wrong = WhatIsWrongWithEndpoint(flags.listen, /*to_listen=*/true);
  return wrong.empty() ? "" : "--listen: " + wrong;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli(kAbout, "shard-discoveryd");
  cli.footer(kExamples);
  cli.add_option("--upstream", flags.upstream,
                 "Where maps come from: shardmanagerd or other relays, HOST:PORT[,...], tried in "
                 "order and in turn")
      ->capture_default_str();
  cli.add_option("--listen", flags.listen, "Where routers and other relays connect, HOST:PORT")
      ->capture_default_str();
  cli.add_option("--metrics-listen", flags.metrics_listen,
                 "Serve Prometheus metrics at http://HOST:PORT/metrics, and /healthz and /readyz. "
                 "HOST: a numeric address. Default: off");
  daemon::AddLogFlags(cli);
  security::AddFlags(cli, flags.security);
  security::AddStreamsFlag(cli, flags.streams);
  CLI11_PARSE(cli, argc, argv);
  if (const std::string wrong = WhatIsWrong(flags); !wrong.empty()) {
    std::fprintf(stderr, "error: %s\n", wrong.c_str());
    return 2;
  }
  if (absl::Status status = InitLogging("shard-discoveryd"); !status.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  const auto transport = wire::Transport::Make(
      flags.security, "", {{.kinds = {security::Kind::kRelay, security::Kind::kControlPlane}}});
  if (!transport.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(transport.status().message()).c_str());
    return 2;
  }
  return Serve(flags, *transport);
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
