// shardmanagerd: the control plane.
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/access/store_access.h"
#include "coordination/zookeeper/ensemble_watch.h"
#include "coordination/zookeeper/private_zookeeper.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "daemon/cell_metrics.h"
#include "daemon/console_wiring.h"
#include "daemon/control_metrics.h"
#include "daemon/driver_metrics.h"
#include "daemon/health.h"
#include "daemon/history_keeper.h"
#include "daemon/relay_metrics.h"
#include "daemon/shardmanagerd_flags.h"
#include "orchestrator/control/controller.h"
#include "runtime/clock.h"
#include "runtime/logging.h"
#include "runtime/metrics.h"
#include "runtime/metrics_server.h"
#include "runtime/process_metrics.h"
#include "runtime/process_name.h"
#include "runtime/signals.h"
#include "security/cert_folder.h"
#include "security/files.h"
#include "security/flags.h"
#include "shardmanager/version.h"
#include "wire/access/access_service.h"
#include "wire/admin_service.h"
#include "wire/controller_calls.h"
#include "wire/discovery_relay.h"
#include "wire/discovery_service.h"
#include "wire/placer_service.h"
#include "wire/shard_server_client.h"
#include "wire/task_control_service.h"
#include "wire/transport.h"

namespace shardmanager {
namespace {

using daemon::ControlFlags;

constexpr int kMaxRequestBytes = 256 << 20;

constexpr char kAbout[] =
    R"(The control plane of Shard Manager: decides which server holds which shard.

Run two or three of them for each cell, anywhere near ZooKeeper: one leads, the others
stand by and take over when it goes. All state is in ZooKeeper; nothing is on the path
of a request, so applications serve on while it is down.)";

// Of calls that hold one until they are answered; further calls get RESOURCE_EXHAUSTED.
constexpr int kMostThreads = 1'000;

// Hands the orchestrator's maps to the hub.
class HubPublisher final : public orchestrator::MapPublisher {
 public:
  explicit HubPublisher(discovery::Hub& hub) : hub_(hub) {}
  void Publish(const AppName& app, v1::MapSnapshot map) override { hub_.Publish(app, map); }
  void Publish(const AppName& app, v1::MapDelta delta) override { hub_.Publish(app, delta); }
  void KnowApps(const std::string& cell, std::set<std::string> apps) override {
    hub_.SetApps(discovery::Hub::Apps{cell, std::move(apps)});
  }
  void ForgetApps() override { hub_.SetApps(std::nullopt); }

 private:
  discovery::Hub& hub_;
};

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 1;
}

// --dev: a ZooKeeper of our own, in a folder of its own, gone with us.
absl::StatusOr<std::unique_ptr<PrivateZookeeper>> StartPrivateZookeeper(ControlFlags& flags) {
  if (flags.data_dir.empty()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "shardmanager-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return absl::ErrnoToStatus(errno, pattern);
    flags.data_dir = pattern;
  }
  auto zookeeper = PrivateZookeeper::Start({.data_dir = flags.data_dir,
                                            .port = flags.dev_port,
                                            .tick_ms = static_cast<int>(flags.zookeeper_tick_ms)});
  if (!zookeeper.ok()) return zookeeper.status();
  flags.zookeeper = (*zookeeper)->connect_string();
  spdlog::info("private ZooKeeper at {}, data in {}", flags.zookeeper, flags.data_dir);
  return zookeeper;
}

// Listens at `address` with all services.
absl::StatusOr<wire::ServerAndPort> Listen(const wire::Transport& transport,
                                           const std::string& address,
                                           const std::vector<grpc::Service*>& services, int* port) {
  grpc::ServerBuilder builder;
  wire::PrepareForSubscribers(builder);
  // A spec with a million shards is larger than gRPC's 4 MB.
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  // What calls of many identities together may take.
  builder.SetResourceQuota(grpc::ResourceQuota("admin").SetMaxThreads(kMostThreads));
  auto mixed = transport.ListenAt(address, {security::Anybody()}, builder, port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  wire::ServerAndPort serving = wire::StartWith(std::move(mixed), builder);
  if (serving.server != nullptr && *port != 0) {
    spdlog::info("this process is {}", transport.About());
    return serving;
  }
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address,
                   ": is the port taken, or not an address of this machine? (--listen HOST:PORT)"));
}

// Where others reach us, listening on `port`.
std::string Endpoint(const ControlFlags& flags, int port) {
  if (!flags.advertise.empty()) return flags.advertise;
  std::string host = flags.listen.substr(0, flags.listen.rfind(':'));
  if (host.empty() || host == "0.0.0.0" || host == "[::]" || host == "*") host = HostName();
  return absl::StrCat(host, ":", port);
}

orchestrator::ControllerOptions ControllerOptionsFor(const ControlFlags& flags,
                                                     discovery::ReportDesk& reports,
                                                     orchestrator::Meter& meter) {
  orchestrator::ControllerOptions options;
  options.meter = &meter;
  options.cell.set_cell(flags.cell);
  options.cell.set_zookeeper_tick_ms(flags.zookeeper_tick_ms);
  options.cell.set_session_timeout_ms(flags.session_timeout_ms);
  options.cell.set_buckets(64);
  options.wall_ms = WallMilliseconds;
  options.process = HostAndPid();
  options.timeouts_were_named = flags.timeouts_were_named;
  options.min_session_timeout_tells_tick = !flags.min_session_timeout_is_set;
  options.client_views = [&reports](const AppName& app) {
    const v1::ReportServersRequest said = reports.Sum(app);
    return std::vector<v1::ServerSeen>(said.servers().begin(), said.servers().end());
  };
  return options;
}

// Maps go to subscribers as long as the controller is in touch with the store; while another
// process leads, they come from there.
void Connect(orchestrator::Controller& controller, wire::DiscoveryRelay& relay,
             daemon::HistoryKeeper* history) {
  relay.hub().SetStale(true);  // until it is in touch
  controller.on_touch = [&relay](bool in_touch) { relay.hub().SetStale(!in_touch); };
  controller.on_leader = [&relay, history](const std::string& other_leader) {
    if (history != nullptr) history->LeaderIs(other_leader);
    if (other_leader.empty()) return relay.SetUpstream({});
    spdlog::info("standing by; maps come from the leader at {}", other_leader);
    relay.SetUpstream({other_leader});
  };
  relay.hub().on_ahead = [&controller](const AppName& app, MapVersion known) {
    controller.SubscriberIsAhead(app, known);
  };
}

// With --dev certificates for trials are made where all programs look for them, unless others are
// there.
absl::StatusOr<std::shared_ptr<const wire::Transport>> MakeTransport(const ControlFlags& flags) {
  const Security& given = flags.security;
  const bool is_said =
      given.insecure || !given.certs.empty() || !given.ca.empty() || !given.cert.empty();
  const std::string folder = security::DefaultFolder();
  if (flags.dev && !is_said && !folder.empty()) {
    const auto made = security::EnsureTrialFolder(folder, WallMilliseconds() / 1'000);
    if (!made.ok()) return made.status();
    if (*made) spdlog::info("certificates for trials on this machine are in {}", folder);
  }
  return wire::Transport::Make(given, flags.cell, {security::AControlPlane()});
}

// Null: there are to be none.
absl::StatusOr<std::unique_ptr<MetricsServer>> ServeMetrics(const ControlFlags& flags,
                                                            Metrics& metrics,
                                                            daemon::ControlHealth& health) {
  if (flags.metrics_listen.empty()) return nullptr;
  return MetricsServer::Start(flags.metrics_listen, metrics, health.health());
}

// Null: none is kept.
std::unique_ptr<daemon::HistoryKeeper> KeepHistory(
    const ControlFlags& flags, orchestrator::EventLog& events, Metrics& metrics,
    const std::shared_ptr<const wire::Transport>& transport) {
  const std::string folder = daemon::FolderOf(flags.history, flags.data_dir);
  if (folder.empty()) {
    spdlog::info("no history is kept (--history FOLDER keeps one)");
    return nullptr;
  }
  spdlog::info("history is kept in {}: at most {} MB, {} days", folder, flags.history.most_mb,
               flags.history.most_days);
  return std::make_unique<daemon::HistoryKeeper>(flags.history, folder, flags.cell, events, metrics,
                                                 transport);
}

std::shared_ptr<security::Limits> MakeLimits(const ControlFlags& flags) {
  return std::make_shared<security::Limits>(
      security::Limits::Options{.calls_per_s = static_cast<double>(flags.calls_per_s),
                                .calls_at_once = flags.calls_at_once,
                                .streams = flags.streams});
}

// What is served over gRPC.
class Services {
 public:
  // All must outlive it.
  struct Context {
    orchestrator::Controller& controller;
    wire::DiscoveryRelay& relay;
    const EnsembleWatch& ensemble;
    daemon::HistoryKeeper* history;  // may be null
    std::string cell;
    wire::Gate gate;
  };
  explicit Services(const Context& context)
      : discovery_(context.relay.hub(),
                   {.reports = &context.relay.reports(), .gate = context.gate}),
        admin_(context.controller, SHARDMANAGER_VERSION_TEXT, context.gate,
               {.relays = [this] { return discovery_.Relays(); },
                .zookeeper = [&ensemble = context.ensemble] { return ensemble.Members(); },
                .history = context.history == nullptr ? nullptr : &context.history->history()}),
        access_(context.controller, context.cell, context.gate),
        tasks_(context.controller, context.gate),
        placer_(/*most_at_once=*/1, context.gate) {}

  std::vector<grpc::Service*> all() {
    return {admin_.service(), access_.service(), tasks_.service(), discovery_.service(),
            placer_.service()};
  }
  wire::DiscoveryService& discovery() { return discovery_; }
  // Streams and long calls, before the server is shut down.
  void End() {
    admin_.EndStreams();
    placer_.EndCalls();
    discovery_.EndStreams();
  }

 private:
  wire::DiscoveryService discovery_;
  wire::AdminService admin_;
  wire::AccessService access_;
  wire::TaskControlService tasks_;
  wire::PlacerService placer_;
};

// The pieces in the order in which they are made; they go in the reverse one.
int Serve(ControlFlags flags, std::shared_ptr<StoreAccess> access,
          std::shared_ptr<const wire::Transport> transport) {
  StopSignals signals;
  std::unique_ptr<PrivateZookeeper> zookeeper;
  if (flags.dev) {
    auto started = StartPrivateZookeeper(flags);
    if (!started.ok()) return Fail(started.status());
    zookeeper = *std::move(started);
  }
  Metrics metrics;
  daemon::ControlHealth health;
  const auto metrics_server = ServeMetrics(flags, metrics, health);
  if (!metrics_server.ok()) return Fail(metrics_server.status());
  const auto process_metrics = metrics.AddSource(ProcessMetrics);
  wire::DiscoveryRelay relay({.kind = v1::SUBSCRIBER_STANDBY, .transport = transport});
  HubPublisher publisher(relay.hub());
  orchestrator::EventLog events;
  const std::shared_ptr<security::Limits> limits = MakeLimits(flags);
  daemon::ControlMetrics control_metrics(metrics, events, limits);
  const auto history = KeepHistory(flags, events, metrics, transport);
  wire::ShardServerClient sender({.transport = transport});
  ZookeeperStoreFactory stores(flags.zookeeper, std::move(access));
  const EnsembleWatch ensemble(flags.zookeeper);
  daemon::DriverMetrics meter(metrics);

  auto controller = std::make_unique<orchestrator::Controller>(
      ControllerOptionsFor(flags, relay.reports(), meter), stores, sender, publisher, events);
  absl::Status fatal;
  controller->on_fatal = [&](absl::Status status) {
    fatal = std::move(status);
    signals.RequestStop();
  };
  Connect(*controller, relay, history.get());
  Services services({*controller, relay, ensemble, history.get(), flags.cell,
                     wire::GateOf(transport, *controller, limits)});
  daemon::RelayMetrics relay_metrics(metrics);
  const daemon::CellMetrics cell_metrics(
      metrics, {.look = [&](auto reply) { controller->GetHealth(std::move(reply)); },
                .zookeeper = [&] { return ensemble.Members(); },
                .after_look = [&] { relay_metrics.Show(relay.stats(), services.discovery()); }});
  int port = 0;
  const auto serving = Listen(*transport, flags.listen, services.all(), &port);
  if (!serving.ok()) return Fail(serving.status());
  auto console = daemon::OwnConsole::Start(flags.console, flags.dev, *controller, history.get(),
                                           SHARDMANAGER_VERSION_TEXT);
  if (!console.ok()) return Fail(console.status());
  spdlog::info("cell {}: serving admin, task control and discovery on port {}, ZooKeeper at {}",
               flags.cell, port, flags.zookeeper);
  controller->Start(Endpoint(flags, port));
  health.Watch([&](auto reply) { controller->operations().GetStatus(std::move(reply)); });
  const int signal = signals.Wait();

  if (fatal.ok()) spdlog::info("stopping ({})", signal == 0 ? "asked to" : "signal");
  health.Forget();
  controller->Stop();
  console->reset();
  services.End();
  serving->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return fatal.ok() ? 0 : Fail(fatal);
}

int Main(int argc, char** argv) {
  ControlFlags flags;
  CLI::App cli(kAbout, "shardmanagerd");
  const daemon::GivenFlags given = daemon::AddFlags(cli, flags);
  CLI11_PARSE(cli, argc, argv);
  if (absl::Status status = daemon::CheckFlags(given, flags); !status.ok()) {
    Fail(status);
    return 2;
  }
  auto access = AccessOfControlPlane(flags.zookeeper_credentials, flags.cell);
  if (!access.ok()) {
    Fail(access.status());
    return 2;
  }
  absl::Status status = InitLogging("shardmanagerd");
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  const auto transport = MakeTransport(flags);
  if (!transport.ok()) {
    Fail(transport.status());
    return 2;
  }
  return Serve(flags, *access, *transport);
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
