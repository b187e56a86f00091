#include "tests/simulation/cell/cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {

// What one of the replicas that serve the shard carries.
double LoadOfOne(Cluster& cluster, const std::string& shard) {
  int serve = 0;
  for (const std::string& name : cluster.servers()) {
    const SimServer* server = cluster.server(name);
    if (server == nullptr) continue;
    const auto held = server->held();
    serve += std::any_of(held.begin(), held.end(), [&](const server::ShardBook::Held& one) {
      return one.serving && one.grant.shard.value() == shard;
    });
  }
  return cluster.loads.Reported(cluster.loads.Of(shard) / std::max(1, serve));
}

// What the replica would report beside what it is.
void Measure(Cluster& cluster, orchestrator::HeldReplica& replica) {
  if (cluster.loads.on()) {
    replica.load.push_back({kLoadMetric, LoadOfOne(cluster, replica.shard)});
  }
  if (cluster.demand.on()) replica.requests = cluster.demand.Reported(replica.shard);
}

}  // namespace

Cluster::Cluster(ClusterOptions options, uint64_t seed, ServerWitness& witness,
                 std::function<void(uint64_t call, bool idempotent)> on_call)
    : random(seed), options_(std::move(options)), witness_(witness) {
  options_.cell.set_made_ms(1);
  store.SetSecure(options_.secure);
  store.SetTouchLag(Milliseconds(options_.cell.zookeeper_tick_ms()) / 2);
  for (int i = 0; i < options_.controls; ++i) {
    control_names_.push_back(absl::StrCat("control-", i));
    Start(control_names_.back());
  }
  for (int i = 0; i < options_.servers; ++i) AddServer();
  AddRelay(ControlFeeds());
  auto upstreams = ControlFeeds();  // or the other relay, which may be behind
  upstreams.insert(upstreams.begin(), FeedOfRelay(0));
  AddRelay(std::move(upstreams));
  for (int i = 0; i < options_.clients; ++i) AddClient(i, on_call);
}

Cluster::~Cluster() {
  for (auto& [host, machine] : machines_) Kill(host);
}

// ---- machines ----

std::shared_ptr<Process> Cluster::NewProcess(const std::string& host) {
  const auto range = static_cast<uint64_t>(2 * options_.most_drift_ppm + 1);
  const int64_t drift = static_cast<int64_t>(random.Below(range)) - options_.most_drift_ppm;
  const Duration offset = Seconds(static_cast<int64_t>(random.Below(100'000)));
  return std::make_shared<Process>(schedule, host, drift, offset);
}

std::shared_ptr<Process> Cluster::ProcessOn(const std::string& host) {
  const auto machine = machines_.find(host);
  if (machine == machines_.end()) return nullptr;
  if (machine->second.server != nullptr) return machine->second.server->process();
  if (machine->second.control != nullptr) return machine->second.control->process();
  return nullptr;
}

SimServer* Cluster::server(const std::string& name) {
  const auto machine = machines_.find(name);
  return machine == machines_.end() ? nullptr : machine->second.server.get();
}

SimControl* Cluster::control(const std::string& name) {
  const auto machine = machines_.find(name);
  return machine == machines_.end() ? nullptr : machine->second.control.get();
}

SimServer* Cluster::Listening(const std::string& endpoint) {
  SimServer* found = server(endpoint.substr(0, endpoint.find(':')));
  return found != nullptr && found->endpoint() == endpoint ? found : nullptr;
}

void Cluster::AddServer() {
  const std::string name = absl::StrCat("kv-", server_names_.size());
  machines_[name].region = absl::StrCat("r", server_names_.size() % options_.regions);
  server_names_.push_back(name);
  Start(name);
}

void Cluster::Start(const std::string& host) {
  if (ProcessOn(host) != nullptr || lasting.gone.contains(host)) return;
  Machine& machine = machines_[host];
  const std::shared_ptr<Process> process = NewProcess(host);
  if (machine.region.empty()) {
    machine.control = std::make_unique<SimControl>(
        SimControl::Context{network, store,
                            [this](const std::string& endpoint) { return Listening(endpoint); },
                            [this](const std::string& name) { return control(name); },
                            [this](orchestrator::HeldReplica& replica) { Measure(*this, replica); },
                            options_.clients_say},
        process, options_.cell);
  } else {
    machine.server = std::make_unique<SimServer>(
        SimServer::Context{network, store, witness_, habits, replicates, quorum, durable,
                           machine.disk, orders,
                           [this](const std::string& endpoint) { return Listening(endpoint); },
                           [this](const std::string& name) { return server(name); },
                           [this](const std::string& name) {
                             Machine& left = machines_[name];
                             if (left.server != nullptr && left.server->gone()) left.server.reset();
                           }},
        process, host, ++machine.lives, machine.region);
  }
}

void Cluster::Kill(const std::string& host) {
  Machine& machine = machines_[host];
  machine.server.reset();
  machine.control.reset();
}

void Cluster::Leave(const std::string& host) {
  lasting.gone.insert(host);
  Kill(host);
}

void Cluster::Retire(const std::string& host) {
  lasting.gone.insert(host);
  Resume(host);
  Terminate(host);
}

void Cluster::BreakLink(const std::string& one, const std::string& other) {
  lasting.gray.insert({one, other});
  network.Cut(one, other);
  network.Cut(other, one);
}

std::set<std::string> Cluster::healthy() const {
  std::set<std::string> healthy;
  for (const std::string& name : server_names_) {
    if (!lasting.gone.contains(name) && !habits.sick.contains(name)) healthy.insert(name);
  }
  return healthy;
}

void Cluster::MakeAnew() {
  for (auto& [host, machine] : machines_) {
    Kill(host);
    machine.disk.clear();
  }
  store.Empty();
  on_made_anew();
  options_.cell.set_made_ms(schedule.WallMs());
  StartAll();
}

void Cluster::Terminate(const std::string& host) {
  Machine& machine = machines_[host];
  if (machine.control != nullptr) {
    machine.control->Stop();
    machine.control.reset();
  }
  if (machine.server != nullptr) machine.server->Terminate();
}

void Cluster::Pause(const std::string& host) {
  if (const auto process = ProcessOn(host)) process->Pause();
  store.LookAtLinks();
}

void Cluster::Resume(const std::string& host) {
  if (const auto process = ProcessOn(host)) process->Resume();
  store.LookAtLinks();
}

bool Cluster::Running(const std::string& host) {
  const auto process = ProcessOn(host);
  return process != nullptr && process->running();
}

void Cluster::StartAll() {
  for (auto& [host, machine] : machines_) {
    Resume(host);
    Start(host);
  }
}

// ---- the way to clients ----

std::vector<std::function<SimFeed*()>> Cluster::ControlFeeds() {
  std::vector<std::function<SimFeed*()>> feeds;
  for (const std::string& name : control_names_) {
    feeds.push_back([this, name]() -> SimFeed* {
      SimControl* found = control(name);
      return found == nullptr ? nullptr : &found->feed();
    });
  }
  return feeds;
}

std::function<SimFeed*()> Cluster::FeedOfRelay(size_t number) {
  return [this, number] { return relays_[number].feed.get(); };
}

void Cluster::AddRelay(std::vector<std::function<SimFeed*()>> upstreams) {
  relay_names_.push_back(absl::StrCat("relay-", relays_.size()));
  Relay& relay = relays_.emplace_back();
  relay.process = NewProcess(relay_names_.back());
  relay.feed = std::make_unique<SimFeed>(network, relay.process);
  SimFeed& feed = *relay.feed;
  relay.subscriber = std::make_unique<SimSubscriber>(
      network, relay.process,
      SimSubscriber::Options{
          std::move(upstreams), [&feed](const v1::MapSnapshot& map) { return feed.Publish(map); },
          [&feed](const v1::MapDelta& delta) { return feed.Publish(delta); },
          [&feed] { return feed.version(); }, [&feed](bool stale) { feed.SetUpstreamStale(stale); },
          /*is_relay=*/true});
}

std::string Cluster::Leader() {
  for (const std::string& name : control_names_) {
    SimControl* found = control(name);
    if (found != nullptr && found->controller().leads()) return name;
  }
  return "";
}

void Cluster::AddClient(int number, std::function<void(uint64_t, bool)> on_call) {
  constexpr uint64_t kCallsOfOne = 1'000'000'000;
  auto publishers = ControlFeeds();
  if (number % 2 == 0) publishers = {FeedOfRelay(1), FeedOfRelay(0)};
  clients_.push_back(std::make_unique<SimClient>(
      SimClient::Context{schedule, network, random,
                         [this](const std::string& endpoint) { return Listening(endpoint); },
                         std::move(publishers), std::move(on_call)},
      NewProcess(absl::StrCat("client-", number)), static_cast<uint64_t>(number) * kCallsOfOne,
      options_.between_calls));
}

}  // namespace shardmanager::simulation
