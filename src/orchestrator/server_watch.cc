#include "orchestrator/server_watch.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "coordination/envelope.h"
#include "orchestrator/bulk_read.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {
namespace {

std::map<std::string, Incarnation> NewestLives(const std::vector<std::string>& children) {
  std::map<std::string, Incarnation> lives;
  for (const std::string& child : children) {
    const auto name = ParseLiveName(child);
    if (!name) {
      spdlog::warn("a live node has a name that is none of ours: {}", child);
      continue;
    }
    Incarnation& newest = lives[name->server.value()];
    newest = std::max(newest, name->incarnation);
  }
  return lives;
}

}  // namespace

std::optional<ServerLife> ParseLife(const std::string& path, const std::string& data) {
  v1::LiveRecord record;
  if (absl::Status status = Open(data, &record); !status.ok()) {
    spdlog::error("{}: {}; the server is ignored", path, status.ToString());
    return std::nullopt;
  }
  ServerLife life{
      .name = record.server(),
      .incarnation = Incarnation(record.incarnation()),
      .endpoint = record.endpoint(),
      .fault_domain = {record.fault_domain().region(), record.fault_domain().datacenter(),
                       record.fault_domain().rack()},
      .capacity = record.capacity()};
  for (const auto& [metric, amount] : record.metric_capacity()) {
    life.metric_capacity.push_back({metric, amount});
  }
  return life;
}

ServerWatch::ServerWatch(WriterOptions options, OnEvent on_event)
    : options_(std::move(options)),
      on_event_(std::move(on_event)),
      lives_(options_.buckets),
      watched_(options_.buckets) {}

void ServerWatch::Begin(std::function<void(absl::StatusOr<std::vector<ServerLife>>)> done) {
  std::vector<std::string> folders;
  for (uint32_t b = 0; b < options_.buckets; ++b) {
    folders.push_back(Paths::bucket(options_.paths.live(options_.app), b));
  }
  CoordinationStore* store = options_.store;
  auto finish = [this, done](absl::StatusOr<std::vector<NamedNode>> nodes) {
    if (!nodes.ok()) return done(nodes.status());
    std::vector<ServerLife> lives;
    for (const NamedNode& node : *nodes) {
      auto life = ParseLife(node.path, node.node.data);
      if (!life) continue;
      Incarnation& newest = lives_[BucketOf(life->name, options_.buckets)][life->name];
      if (life->incarnation < newest) continue;
      newest = life->incarnation;
      lives.push_back(*std::move(life));
    }
    // Watches last: what changed since the listing shows up when they are set.
    for (uint32_t b = 0; b < options_.buckets; ++b) ListBucket(b, /*watch=*/true);
    done(std::move(lives));
  };
  ListAll(*store, folders, [store, post = options_.post, finish](auto paths) {
    if (!paths.ok()) {
      post([finish, status = paths.status()] { finish(status); });
      return;
    }
    ReadAll(*store, *std::move(paths), [post, finish](auto nodes) {
      post([finish, nodes = std::move(nodes)] { finish(nodes); });
    });
  });
}

void ServerWatch::Relist() {
  for (uint32_t b = 0; b < options_.buckets; ++b) ListBucket(b, !watched_[b]);
}

void ServerWatch::ListBucket(uint32_t bucket, bool watch) {
  CoordinationStore::Watch on_change;
  if (watch) {
    watched_[bucket] = true;
    on_change = [this, post = options_.post, bucket] {
      post([this, bucket] { ListBucket(bucket, /*watch=*/true); });
    };
  }
  options_.store->GetChildren(
      Paths::bucket(options_.paths.live(options_.app), bucket),
      [this, post = options_.post, bucket, watch](auto children) {
        post([=, this, children = std::move(children)] { OnListed(bucket, watch, children); });
      },
      std::move(on_change));
}

void ServerWatch::OnListed(uint32_t bucket, bool watch,
                           const absl::StatusOr<std::vector<std::string>>& children) {
  if (!children.ok()) {
    if (watch) watched_[bucket] = false;  // out of reach: the next Relist() sets it
    return;
  }
  Compare(bucket, NewestLives(*children));
}

void ServerWatch::Compare(uint32_t bucket, const Lives& now) {
  const Lives before = std::exchange(lives_[bucket], now);
  for (const auto& [server, incarnation] : now) {
    auto known = before.find(server);
    if (known == before.end() || known->second < incarnation) ReadLife(server, incarnation);
  }
  for (const auto& [server, incarnation] : before) {
    if (now.find(server) == now.end()) ReadEnd(server, incarnation);
  }
}

void ServerWatch::ReadLife(const std::string& server, Incarnation incarnation) {
  const std::string path =
      options_.paths.live(options_.app, ServerName(server), incarnation, options_.buckets);
  options_.store->Get(path, [this, post = options_.post, server, path](auto node) {
    post([this, server, path, node = std::move(node)] { OnLifeRead(server, path, node); });
  });
}

void ServerWatch::OnLifeRead(const std::string& server, const std::string& path,
                             const absl::StatusOr<Node>& node) {
  if (node.ok()) {
    if (auto life = ParseLife(path, node->data)) on_event_(ServerUp{*std::move(life)});
    return;
  }
  // Gone again, or out of reach: as if it had not been listed, so that the next
  // listing shows it as new.
  lives_[BucketOf(server, options_.buckets)].erase(server);
}

// The registration version in the event must belong to the life that ended, not to a
// new one that may be registering right now: else a failover write would not notice
// the newcomer. Only a good-bye bumps it without one.
void ServerWatch::ReadEnd(const std::string& server, Incarnation incarnation) {
  const std::string path =
      options_.paths.server(options_.app, ServerName(server), options_.buckets);
  options_.store->Get(path, [this, post = options_.post, server, incarnation](auto node) {
    ServerDown down{.name = server,
                    .incarnation = incarnation,
                    .registration_version = static_cast<int32_t>(incarnation.value())};
    v1::ServerRecord record;
    if (node.ok() && Open(node->data, &record).ok() && record.departed() &&
        node->stat.version == down.registration_version + 1) {
      down.departed = true;
      down.registration_version = node->stat.version;
    }
    post([this, down] { on_event_(down); });
  });
}

// The registration is read before the live nodes are listed: if no live node follows,
// the life that it counts is over.
void ServerWatch::Recheck(const std::string& server) {
  const std::string path =
      options_.paths.server(options_.app, ServerName(server), options_.buckets);
  const uint32_t bucket = BucketOf(server, options_.buckets);
  const std::string folder = Paths::bucket(options_.paths.live(options_.app), bucket);
  CoordinationStore* store = options_.store;
  store->Get(path, [this, store, folder, bucket, server, post = options_.post](auto node) {
    if (!node.ok()) return;
    ServerDown down{.name = server, .registration_version = node->stat.version};
    v1::ServerRecord record;
    down.departed = Open(node->data, &record).ok() && record.departed();
    down.incarnation = Incarnation(static_cast<uint64_t>(node->stat.version));
    store->GetChildren(folder, [this, bucket, down, post](auto children) {
      if (!children.ok()) return;
      post([this, bucket, down, children = *std::move(children)] {
        const Lives now = NewestLives(children);
        Compare(bucket, now);
        if (now.find(down.name) == now.end()) on_event_(down);
      });
    });
  });
}

}  // namespace shardmanager::orchestrator
