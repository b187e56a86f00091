#include "tests/discovery/discovery_server.h"

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <utility>

#include "base/check.h"

namespace shardmanager::discovery {

DiscoveryServer::DiscoveryServer(Hub& hub, int port, wire::DiscoveryService::Options options)
    : service_(hub, options) {
  grpc::ServerBuilder builder;
  wire::PrepareForSubscribers(builder);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                           &port_);
  builder.RegisterService(service_.service());
  server_ = builder.BuildAndStart();
  SM_CHECK(server_ != nullptr, "the port is free");
}

DiscoveryServer::~DiscoveryServer() {
  service_.EndStreams();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
}

wire::DiscoveryClientOptions QuickClient(std::vector<std::string> endpoints) {
  wire::DiscoveryClientOptions options;
  options.transport = wire::Transport::Insecure();
  options.endpoints = std::move(endpoints);
  options.subscriber = "test";
  options.first_message = Milliseconds(500);
  options.silence = Milliseconds(2'000);
  options.shortest_backoff = Milliseconds(5);
  options.longest_backoff = Milliseconds(20);
  options.longest_backoff_with_map = Milliseconds(20);
  options.seed = 1;
  return options;
}

void RecordingSink::OnSnapshot(WholeMap whole) {
  std::lock_guard lock(mutex_);
  map_.Apply(whole.ToSnapshot());
  ++snapshots_;
  changed_.notify_all();
}

bool RecordingSink::OnDelta(v1::MapDelta delta) {
  std::lock_guard lock(mutex_);
  if (std::exchange(refuses_, false)) return false;
  map_.Apply(delta);
  ++deltas_;
  changed_.notify_all();
  return true;
}

void RecordingSink::OnStreamState(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  connected_ = status.ok();
  if (!status.ok()) {
    ++losses_;
    last_loss_ = std::string(status.message());
    loss_code_ = status.code();
  }
  changed_.notify_all();
}

void RecordingSink::OnStale(bool stale) {
  std::lock_guard lock(mutex_);
  stale_ = stale;
  changed_.notify_all();
}

void RecordingSink::OnFreshness(Freshness freshness) {
  std::lock_guard lock(mutex_);
  freshness_ = freshness;
  if (freshness == Freshness::kNobodySure) nobody_was_sure_ = true;
  changed_.notify_all();
}

void RecordingSink::OnNoSuchApp(const std::string& cell) {
  std::lock_guard lock(mutex_);
  no_such_app_in_ = cell;
  changed_.notify_all();
}

void RecordingSink::RefuseNextDelta() {
  std::lock_guard lock(mutex_);
  refuses_ = true;
}

template <typename Condition>
bool RecordingSink::Await(Condition condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), condition);
}

bool RecordingSink::AwaitVersion(MapVersion version) {
  return Await([&] { return map_.version() == version; });
}
bool RecordingSink::AwaitConnected() {
  return Await([&] { return connected_; });
}
bool RecordingSink::AwaitLost(int losses) {
  return Await([&] { return losses_ >= losses && !connected_; });
}
bool RecordingSink::AwaitFreshness(Freshness freshness) {
  return Await([&] { return freshness_ == freshness; });
}
bool RecordingSink::AwaitNoSuchApp(const std::string& cell) {
  return Await([&] { return no_such_app_in_ == cell; });
}

bool RecordingSink::AwaitStale(bool stale) {
  return Await([&] { return stale_ == stale; });
}

std::vector<std::string> RecordingSink::Shards() const {
  std::lock_guard lock(mutex_);
  return map_.Shards();
}
int RecordingSink::snapshots() const {
  std::lock_guard lock(mutex_);
  return snapshots_;
}
int RecordingSink::deltas() const {
  std::lock_guard lock(mutex_);
  return deltas_;
}
std::string RecordingSink::last_loss() const {
  std::lock_guard lock(mutex_);
  return last_loss_;
}

int RecordingSink::losses() const {
  std::lock_guard lock(mutex_);
  return losses_;
}
absl::StatusCode RecordingSink::loss_code() const {
  std::lock_guard lock(mutex_);
  return loss_code_;
}
std::string RecordingSink::no_such_app_in() const {
  std::lock_guard lock(mutex_);
  return no_such_app_in_;
}
bool RecordingSink::nobody_was_sure() const {
  std::lock_guard lock(mutex_);
  return nobody_was_sure_;
}

bool RecordingSink::stale() const {
  std::lock_guard lock(mutex_);
  return stale_;
}

}  // namespace shardmanager::discovery
