#include "orchestrator/shell/server_watch.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/defect.h"
#include "coordination/access/store_access.h"
#include "coordination/records.h"
#include "orchestrator/shell/bulk_read.h"
#include "orchestrator/shell/damaged_records.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

ServerWatch::ServerWatch(WriterOptions options, OnEvent on_event)
    : options_(std::move(options)), on_event_(std::move(on_event)), buckets_(options_.buckets) {}

ServerWatch::Bucket& ServerWatch::BucketFor(const std::string& server) {
  return buckets_[BucketOf(server, options_.buckets)];
}

std::string ServerWatch::PathOf(const LiveName& name) const {
  return options_.paths.live(options_.app, name, options_.buckets);
}

std::string ServerWatch::FolderOf(uint32_t bucket) const {
  return Paths::bucket(options_.paths.live(options_.app), bucket);
}

// A name in a bucket that is not its own, or that its server did not make, is ignored wherever it
// is seen, and said: nobody finds the server's records there.
std::optional<LiveName> ServerWatch::NameOf(const std::string& path) {
  auto name = ParseLiveName(path.substr(path.rfind('/') + 1));
  if (!name || path != PathOf(*name)) {
    options_.damaged->Misplaced(path, name ? PathOf(*name) : "");
    return std::nullopt;
  }
  const StoreAccess* access = options_.store->access();
  if (access == nullptr || access->Counts(options_.app, *name)) return name;
  options_.damaged->Misplaced(path, "");
  return std::nullopt;
}

// A live node that is there proves that the server lives, whatever its record says: a
// life that cannot be read must not be taken for one that is over.
ServerLife ServerWatch::TakeLife(const LiveName& name, const absl::StatusOr<Node>& node) {
  ServerLife life{.name = name.server.value(), .incarnation = name.incarnation};
  if (!node.ok()) {
    life.unread = true;
    spdlog::error("app {}: the live record of {} may not be read: {}", options_.app.value(),
                  life.name, node.status().ToString());
    return life;
  }
  v1::LiveRecord record;
  if (absl::Status status = OpenLive(node->data, name, &record); !status.ok()) {
    life.unread = true;
    options_.damaged->Add(RecordKind::kLive, life.name, PathOf(name), *node, status);
    return life;
  }
  life.endpoint = record.endpoint();
  life.process = record.process();
  life.fault_domain = {record.fault_domain().region(), record.fault_domain().datacenter(),
                       record.fault_domain().rack()};
  life.capacity = record.capacity();
  for (const auto& [metric, amount] : record.metric_capacity()) {
    life.metric_capacity.push_back({metric, amount});
  }
  return life;
}

void ServerWatch::Begin(std::function<void(absl::StatusOr<std::vector<ServerLife>>)> done) {
  std::vector<std::string> folders;
  for (uint32_t b = 0; b < options_.buckets; ++b) folders.push_back(FolderOf(b));
  CoordinationStore* store = options_.store;
  auto finish = [this, done](absl::StatusOr<std::vector<NamedNode>> nodes) {
    if (!nodes.ok()) return done(nodes.status());
    std::vector<ServerLife> lives;
    for (const NamedNode& node : *nodes) {
      const auto name = NameOf(node.path);
      if (!name) continue;
      LiveName& newest = BucketFor(name->server.value()).told[name->server.value()];
      if (name->incarnation < newest.incarnation) continue;
      newest = *name;
      const absl::StatusOr<Node> read =
          node.denied.ok() ? absl::StatusOr<Node>(node.node) : node.denied;
      lives.push_back(TakeLife(*name, read));
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
    ReadAll(
        *store, *std::move(paths),
        [post, finish](auto nodes) { post([finish, nodes = std::move(nodes)] { finish(nodes); }); },
        Denied::kGive);
  });
}

// ---- listings ----

void ServerWatch::Relist() {
  for (uint32_t b = 0; b < options_.buckets; ++b) ListBucket(b, !buckets_[b].watched);
}

void ServerWatch::ListBucket(uint32_t bucket, bool watch) {
  CoordinationStore::Watch on_change;
  if (watch) {
    buckets_[bucket].watched = true;
    on_change = [this, post = options_.post, bucket] {
      post([this, bucket] { ListBucket(bucket, /*watch=*/true); });
    };
  }
  options_.store->GetChildren(
      FolderOf(bucket),
      [this, post = options_.post, bucket, watch](auto children) {
        post([=, this, children = std::move(children)] { OnListed(bucket, watch, children); });
      },
      std::move(on_change));
}

void ServerWatch::OnListed(uint32_t bucket, bool watch,
                           const absl::StatusOr<std::vector<std::string>>& children) {
  if (!children.ok()) {
    if (watch) buckets_[bucket].watched = false;  // out of reach: the next Relist() sets it
    return;
  }
  buckets_[bucket].listed = NewestLives(bucket, *children);
  Reconcile(bucket);
}

ServerWatch::Lives ServerWatch::NewestLives(uint32_t bucket,
                                            const std::vector<std::string>& children) {
  Lives lives;
  for (const std::string& child : children) {
    auto name = NameOf(FolderOf(bucket) + "/" + child);
    if (!name) continue;
    LiveName& newest = lives[name->server.value()];
    if (name->incarnation >= newest.incarnation) newest = *std::move(name);
  }
  return lives;
}

void ServerWatch::Reconcile(uint32_t bucket) {
  const Bucket& b = buckets_[bucket];
  for (const auto& [server, name] : b.listed) {
    const auto told = b.told.find(server);
    if (told == b.told.end() || told->second.incarnation < name.incarnation) ReadLife(name);
  }
  for (const auto& [server, name] : b.told) {
    if (!b.listed.contains(server)) ReadEnd(name);
  }
}

// ---- lives that begin ----

void ServerWatch::ReadLife(const LiveName& name) {
  if (!reading_.emplace(name.server.value(), name.incarnation).second) return;
  options_.store->Get(PathOf(name), [this, post = options_.post, name](auto node) {
    post([this, name, node = std::move(node)] { OnLifeRead(name, node); });
  });
}

void ServerWatch::OnLifeRead(const LiveName& name, const absl::StatusOr<Node>& node) {
  const std::string& server = name.server.value();
  reading_.erase({server, name.incarnation});
  Bucket& bucket = BucketFor(server);
  if (!node.ok() && !absl::IsPermissionDenied(node.status())) {
    // Gone again, or out of reach: the next listing is compared with what was told.
    if (Planted(Defect::kForgetsTheLost)) bucket.told.erase(server);
    return;
  }
  const auto listed = bucket.listed.find(server);
  if (listed == bucket.listed.end() || listed->second.incarnation != name.incarnation) {
    return Reconcile(BucketOf(server, options_.buckets));  // it ended while it was read
  }
  bucket.told[server] = name;
  on_event_(ServerUp{TakeLife(name, node)});
}

// ---- lives that end ----

// The registration version in the event must belong to the life that ended, not to a
// new one that may be registering right now: else a failover write would not notice
// the newcomer. Only a good-bye bumps it without one.
void ServerWatch::ReadEnd(const LiveName& name) {
  if (!reading_.emplace(name.server.value(), name.incarnation).second) return;
  const std::string path = options_.paths.server(options_.app, name.server, options_.buckets);
  options_.store->Get(path, [this, post = options_.post, name, path](auto node) {
    post([this, name, path, node = std::move(node)] { OnEndRead(name, path, node); });
  });
}

void ServerWatch::OnEndRead(const LiveName& name, const std::string& path,
                            const absl::StatusOr<Node>& node) {
  reading_.erase({name.server.value(), name.incarnation});
  ServerDown down{.name = name.server.value(),
                  .incarnation = name.incarnation,
                  .registration_version = static_cast<int32_t>(name.incarnation.value())};
  v1::ServerRecord record;
  absl::Status status = node.status();
  if (status.ok()) status = OpenServer(node->data, name.server, &record);
  if (status.ok() && record.departed() && node->stat.version == down.registration_version + 1) {
    down.departed = true;
    down.registration_version = node->stat.version;
  }
  if (node.ok() && !status.ok()) {
    options_.damaged->Add(RecordKind::kRegistration, down.name, path, *node, status);
  }
  TellDown(down);
}

void ServerWatch::TellDown(const ServerDown& down) {
  Lives& told = BucketFor(down.name).told;
  const auto found = told.find(down.name);
  if (found != told.end() && found->second.incarnation <= down.incarnation) told.erase(found);
  on_event_(down);
}

// The registration is read before the live nodes are listed: if no live node follows,
// the life that it counts is over.
void ServerWatch::Recheck(const std::string& server) {
  const std::string path =
      options_.paths.server(options_.app, ServerName(server), options_.buckets);
  const uint32_t bucket = BucketOf(server, options_.buckets);
  CoordinationStore* store = options_.store;
  store->Get(path, [this, store, bucket, server, folder = FolderOf(bucket),
                    post = options_.post](auto node) {
    ServerDown down{.name = server};
    if (node.ok()) {
      v1::ServerRecord record;
      down.registration_version = node->stat.version;
      down.departed = OpenServer(node->data, ServerName(server), &record).ok() && record.departed();
      down.incarnation = Incarnation(static_cast<uint64_t>(node->stat.version));
    } else {
      post([this, bucket, down, status = node.status()] { OnRechecked(bucket, down, status); });
      return;
    }
    store->GetChildren(folder, [this, bucket, down, post](auto children) {
      post([this, bucket, down, children = std::move(children)] {
        OnRechecked(bucket, down, children);
      });
    });
  });
}

// What is asked anew waits for the connection.
void ServerWatch::OnRechecked(uint32_t bucket, const ServerDown& down,
                              const absl::StatusOr<std::vector<std::string>>& children) {
  if (absl::IsUnavailable(children.status()) && !Planted(Defect::kForgetsTheLost)) {
    return Recheck(down.name);
  }
  if (!children.ok()) return;  // the session is over, and this with it
  buckets_[bucket].listed = NewestLives(bucket, *children);
  Reconcile(bucket);
  if (!buckets_[bucket].listed.contains(down.name)) TellDown(down);
}

}  // namespace shardmanager::orchestrator
