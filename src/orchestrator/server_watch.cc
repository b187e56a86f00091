#include "orchestrator/server_watch.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "coordination/records.h"
#include "orchestrator/bulk_read.h"
#include "orchestrator/damaged_records.h"
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

// A live node that is there proves that the server lives, whatever its record says: a
// life that cannot be read must not be taken for one that is over.
ServerLife ServerWatch::TakeLife(const LiveName& name, const Node& node) {
  ServerLife life{.name = name.server.value(), .incarnation = name.incarnation};
  v1::LiveRecord record;
  if (absl::Status status = OpenLive(node.data, name, &record); !status.ok()) {
    life.unread = true;
    options_.damaged->Add(RecordKind::kLive, life.name, PathOf(name), node, status);
    return life;
  }
  life.endpoint = record.endpoint();
  life.fault_domain = {record.fault_domain().region(), record.fault_domain().datacenter(),
                       record.fault_domain().rack()};
  life.capacity = record.capacity();
  for (const auto& [metric, amount] : record.metric_capacity()) {
    life.metric_capacity.push_back({metric, amount});
  }
  return life;
}

std::string ServerWatch::PathOf(const LiveName& name) const {
  return options_.paths.live(options_.app, name.server, name.incarnation, options_.buckets);
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
      const auto name = ParseLiveName(node.path.substr(node.path.rfind('/') + 1));
      if (!name) continue;
      const std::string& server = name->server.value();
      Incarnation& newest = lives_[BucketOf(server, options_.buckets)][server];
      if (name->incarnation < newest) continue;
      newest = name->incarnation;
      lives.push_back(TakeLife(*name, node.node));
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
  const LiveName name{ServerName(server), incarnation};
  options_.store->Get(PathOf(name), [this, post = options_.post, name](auto node) {
    post([this, name, node = std::move(node)] { OnLifeRead(name, node); });
  });
}

void ServerWatch::OnLifeRead(const LiveName& name, const absl::StatusOr<Node>& node) {
  if (node.ok()) return on_event_(ServerUp{TakeLife(name, *node)});
  // Gone again, or out of reach: as if it had not been listed, so that the next
  // listing shows it as new.
  lives_[BucketOf(name.server.value(), options_.buckets)].erase(name.server.value());
}

// The registration version in the event must belong to the life that ended, not to a
// new one that may be registering right now: else a failover write would not notice
// the newcomer. Only a good-bye bumps it without one.
void ServerWatch::ReadEnd(const std::string& server, Incarnation incarnation) {
  const std::string path =
      options_.paths.server(options_.app, ServerName(server), options_.buckets);
  options_.store->Get(path, [this, post = options_.post, server, incarnation, path](auto node) {
    ServerDown down{.name = server,
                    .incarnation = incarnation,
                    .registration_version = static_cast<int32_t>(incarnation.value())};
    v1::ServerRecord record;
    absl::Status status = node.status();
    if (status.ok()) status = OpenServer(node->data, ServerName(server), &record);
    if (status.ok() && record.departed() && node->stat.version == down.registration_version + 1) {
      down.departed = true;
      down.registration_version = node->stat.version;
    }
    post([this, down, path, status, node = std::move(node)] {
      if (node.ok() && !status.ok()) {
        options_.damaged->Add(RecordKind::kRegistration, down.name, path, *node, status);
      }
      on_event_(down);
    });
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
    down.departed = OpenServer(node->data, ServerName(server), &record).ok() && record.departed();
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
