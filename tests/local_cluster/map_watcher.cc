#include "tests/local_cluster/map_watcher.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "shardmanager/v1/discovery.grpc.pb.h"

namespace shardmanager::local {
namespace {

constexpr std::chrono::milliseconds kListenAgainAfter{50};

void Fill(MapView& view, const v1::MapServer& server) {
  view.servers[server.index()] = server.name();
}

std::vector<uint32_t> ServersOf(const v1::MapShard& shard) {
  std::vector<uint32_t> servers;
  for (const v1::MapReplica& replica : shard.replicas()) servers.push_back(replica.server());
  return servers;
}

}  // namespace

size_t MapView::served() const {
  size_t served = 0;
  for (const Shard& shard : shards) served += !shard.servers.empty();
  return served;
}

std::map<std::string, size_t> MapView::counts() const {
  std::map<uint32_t, size_t> by_index;
  for (const Shard& shard : shards) {
    for (uint32_t server : shard.servers) ++by_index[server];
  }
  std::map<std::string, size_t> counts;
  for (auto [index, count] : by_index) {
    auto name = servers.find(index);
    counts[name == servers.end() ? absl::StrCat("unknown server ", index) : name->second] += count;
  }
  return counts;
}

bool MapView::balanced(size_t servers) const {
  const auto count = counts();
  const size_t share = shards.size() / servers;
  return all_served() && count.size() == servers &&
         std::all_of(count.begin(), count.end(), [&](const auto& c) { return c.second >= share; });
}

std::string MapView::Describe() const {
  std::string text = absl::StrCat("map ", version.first, ".", version.second, ": ", served(),
                                  " of ", shards.size(), " shards served;");
  for (const auto& [server, count] : counts()) absl::StrAppend(&text, " ", server, "=", count);
  return text;
}

MapWatcher::MapWatcher(std::shared_ptr<grpc::Channel> discovery, std::string app)
    : channel_(std::move(discovery)), app_(std::move(app)), thread_([this] { Run(); }) {}

MapWatcher::~MapWatcher() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (current_ != nullptr) current_->TryCancel();
    changed_.notify_all();
  }
  thread_.join();
}

MapView MapWatcher::view() const {
  std::lock_guard lock(mutex_);
  return view_;
}

bool MapWatcher::WaitFor(const std::function<bool(const MapView&)>& wanted,
                         std::chrono::milliseconds timeout, MapView* seen) const {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [&] { return wanted(view_); })) return false;
  if (seen != nullptr) *seen = view_;
  return true;
}

void MapWatcher::Run() {
  while (true) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      current_ = &context;
    }
    ReadStream(context);
    std::unique_lock lock(mutex_);
    current_ = nullptr;
    changed_.wait_for(lock, kListenAgainAfter, [this] { return stopping_; });
  }
}

void MapWatcher::ReadStream(grpc::ClientContext& context) {
  v1::WatchRequest request;
  request.set_app(app_);
  request.set_subscriber("local-cluster");
  {
    std::lock_guard lock(mutex_);
    incoming_ = {};
    if (view_.version.first > 0) {
      request.mutable_known()->set_leader_epoch(view_.version.first);
      request.mutable_known()->set_sequence(view_.version.second);
      request.mutable_known()->set_cell_made_ms(view_.cell_made_ms);
    }
  }
  auto stream = v1::Discovery::NewStub(channel_)->Watch(&context, request);
  v1::WatchResponse response;
  while (stream->Read(&response)) {
    std::lock_guard lock(mutex_);
    if (!Apply(response)) {
      view_.version = {};  // ask for a snapshot next time
      context.TryCancel();
      break;
    }
    changed_.notify_all();
  }
  (void)stream->Finish();
}

bool MapWatcher::Apply(const v1::WatchResponse& response) {
  if (response.has_snapshot()) return ApplySnapshot(response.snapshot());
  if (response.has_delta()) return ApplyDelta(response.delta());
  return true;
}

bool MapWatcher::ApplySnapshot(const v1::MapSnapshot& snapshot) {
  for (const v1::MapServer& server : snapshot.servers()) Fill(incoming_, server);
  for (const v1::MapShard& shard : snapshot.shards()) {
    if (shard.index() != incoming_.shards.size()) return false;
    incoming_.shards.push_back({shard.id(), ServersOf(shard)});
  }
  if (!snapshot.last()) return true;
  incoming_.version = {snapshot.version().leader_epoch(), snapshot.version().sequence()};
  incoming_.cell_made_ms = snapshot.version().cell_made_ms();
  incoming_.changed = MonotonicNow();
  view_ = std::exchange(incoming_, {});
  return true;
}

bool MapWatcher::ApplyDelta(const v1::MapDelta& delta) {
  if (std::pair(delta.from().leader_epoch(), delta.from().sequence()) != view_.version) {
    return false;
  }
  for (const v1::MapServer& server : delta.servers()) Fill(view_, server);
  for (const v1::MapShard& shard : delta.shards()) {
    if (shard.index() >= view_.shards.size()) return false;
    view_.shards[shard.index()].servers = ServersOf(shard);
  }
  view_.version = {delta.version().leader_epoch(), delta.version().sequence()};
  view_.changed = MonotonicNow();
  return true;
}

}  // namespace shardmanager::local
