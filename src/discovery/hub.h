// Where published shard maps meet their subscribers, in one process.
//
//   Hub hub;
//   hub.Publish(app, snapshot);                                  // any thread
//   auto subscription = hub.Subscribe(app, known, [] { ... });   // then Pull()
//
// Cost. Publish: the size of the change, plus one task for all subscribers; never
// waits for a subscriber. Each change is encoded once; a subscriber costs one wake
// and one Pull (a lock and a pointer copy, below a microsecond) on the hub's fan-out
// thread; who has pulled a change and waits for the next one need not wait until all others have
// pulled the first. Subscribers that stand at one version share the bytes of what they are
// sent; a slow one holds one message, or the parts of one shared snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "discovery/map_encoding.h"
#include "discovery/map_feed.h"
#include "model/map_version.h"
#include "runtime/serial_executor.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

class Hub;
struct Topic;  // one app

struct Subscriber {
  // The version that it holds.
  std::optional<MapVersion> known;
  // Called on the hub's thread; must not block. May be called while (and just after) the
  // subscription is destroyed.
  std::function<void()> wake;
  // The name of the cell whose maps it takes; "": of any.
  std::string cell = "";
  // Whose it is. Changes go to subscribers of all sources in turn, so that many of one source do
  // not make those of others wait. Example: "client/kv/web".
  std::string source = "";
};

// One subscriber's place in one app's map. Thread-safe.
class Subscription : public std::enable_shared_from_this<Subscription> {
 public:
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // The next message to send. Null: the subscriber is up to date (or no map is
  // known yet, or it is of another cell than the subscriber's) and knows whether the map may be
  // stale, whether there is such an app and which servers are suspects, and `wake` will be called
  // soon after that changes (and perhaps once more for nothing).
  Message Pull();
  // Tells the subscriber that the stream is alive.
  Message Heartbeat() const;

 private:
  friend class Hub;
  friend struct Topic;
  Subscription(Hub& hub, std::shared_ptr<Topic> topic, Subscriber who);
  // REQUIRES: the topic's mutex held.
  Message PullUpdate();
  Message PullNews();

  Hub& hub_;
  std::shared_ptr<Topic> topic_;
  const std::function<void()> wake_;
  const std::string cell_;
  const std::string source_;
  // Guarded by the topic's mutex.
  std::optional<MapVersion> at_;  // once `pending_` is sent
  std::vector<Message> pending_;  // in reverse order
  bool told_stale_ = false;
  std::string told_no_such_app_in_;
  bool told_other_cell_ = false;
  uint64_t told_suspects_ = 0;  // MapFeed::suspect_changes
};

struct HubOptions {
  FeedLimits limits;
  // Somebody subscribed to an app that nobody subscribed to before. Called in order
  // with `unwanted`; must neither block nor call the hub.
  std::function<void(const AppName&)> wanted;
  // The last subscriber of an app left before any map of it came.
  std::function<void(const AppName&)> unwanted;
};

// Thread-safe. Must outlive its subscriptions.
class Hub {
 public:
  explicit Hub(HubOptions options = {});
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // The whole map in one piece. Never lets a version replace a newer one. A deleted
  // app is a snapshot without shards.
  Verdict Publish(const AppName& app, const v1::MapSnapshot& whole);
  Verdict Publish(const AppName& app, const WholeMap& whole);
  // From exactly the version published last; kGap otherwise.
  Verdict Publish(const AppName& app, const v1::MapDelta& delta);

  // From now on subscribers are told (Heartbeat.stale) that a newer map of the app may
  // exist elsewhere, or are not any more; or of all apps. An app is stale when either says so.
  // An app that nobody asked for yet and that has no map is not.
  void SetStale(const AppName& app, bool stale);
  void SetStale(bool stale);

  // All the apps that a cell has.
  struct Apps {
    std::string cell;  // as MapSnapshot.cell
    std::set<std::string> names;
    friend bool operator==(const Apps&, const Apps&) = default;
  };
  // From now on subscribers to any other app are told (Heartbeat.no_such_app) that the cell has no
  // such app, as long as no map of it comes. Nothing: which apps there are is not known (any more).
  void SetApps(std::optional<Apps> apps);
  // The same of one app, whatever SetApps() says of it; "": nobody says that there is no such app.
  // Of an app that nobody asked for, nothing is kept.
  void SetNoSuchApp(const AppName& app, std::string cell);

  // From now on subscribers are told that clients cannot use these servers (Heartbeat.suspects). Of
  // an app that nobody asked for and that has no map, nothing is kept.
  void SetSuspects(const AppName& app, std::vector<std::string> suspects);

  std::shared_ptr<Subscription> Subscribe(const AppName& app, Subscriber who);
  std::shared_ptr<Subscription> Subscribe(const AppName& app, std::optional<MapVersion> known,
                                          std::function<void()> wake) {
    return Subscribe(app, Subscriber{known, std::move(wake)});
  }

  // Called (set it before anybody subscribes) when a subscriber holds a map of the same cell by a
  // leader with a higher epoch than any that was published here: once for each such epoch. Either
  // its publisher has heard of a successor, or the store has lost what it knew. On any thread; must
  // neither block nor call the hub.
  std::function<void(const AppName&, MapVersion known)> on_ahead;

  // The version published last.
  std::optional<MapVersion> Version(const AppName& app) const;
  size_t subscribers() const;

 private:
  friend class Subscription;

  std::shared_ptr<Topic> GetTopic(const AppName& app);
  std::shared_ptr<Topic> FindTopic(const AppName& app) const;
  template <typename Update>
  Verdict PublishUpdate(const AppName& app, const Update& update);
  void UpdateStale(const std::shared_ptr<Topic>& topic);
  void UpdateNoSuchApp(const std::shared_ptr<Topic>& topic);
  void Wake(const std::shared_ptr<Topic>& topic);
  void WakeSome(const std::shared_ptr<Topic>& topic);
  void NoteIfAhead(Topic& topic, MapVersion known) const;
  void Forget(std::shared_ptr<Topic> topic);

  const HubOptions options_;
  mutable std::mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Topic>> topics_;
  size_t subscribers_ = 0;
  bool stale_ = false;  // all apps
  std::optional<Apps> apps_;
  SerialExecutor fan_out_;
};

}  // namespace shardmanager::discovery
