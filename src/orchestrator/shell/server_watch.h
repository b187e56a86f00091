// Which lives of servers are there: watches on the buckets of live nodes, turned into
// ServerUp and ServerDown.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordination/paths.h"
#include "coordination/store.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/state/partition_io.h"

namespace shardmanager::orchestrator {

// On the driver's thread only. Level-triggered: whatever a watch was fired for, the bucket is
// listed again, and the listing is compared with what the partition was told. So a life that came
// and went between two looks, or whose record could not be read, leaves nothing behind.
class ServerWatch {
 public:
  using OnEvent = std::function<void(Event)>;

  ServerWatch(WriterOptions options, OnEvent on_event);

  // Lists all buckets and begins to watch. Lives seen so far are given to `done`;
  // later ones come as events.
  void Begin(std::function<void(absl::StatusOr<std::vector<ServerLife>>)> done);

  // Looks at one server again, from its registration on: after a failover write met
  // a new life. Goes on until it has an answer, or the session is over.
  void Recheck(const std::string& server);

  // Lists all buckets again, in case a watch was missed or could not be set. Cheap:
  // call it now and then, and when the store is reached again.
  void Relist();

 private:
  using Lives = std::map<std::string, LiveName>;  // by server name
  struct Bucket {
    Lives listed;          // the newest life of each server, by the last listing
    Lives told;            // those of which the partition heard that they are up, and not the end
    bool watched = false;  // a watch is set or being set
  };

  void ListBucket(uint32_t bucket, bool watch);
  void OnListed(uint32_t bucket, bool watch,
                const absl::StatusOr<std::vector<std::string>>& children);
  Lives NewestLives(uint32_t bucket, const std::vector<std::string>& children);
  // Reads what tells the partition of each difference between `listed` and `told`.
  void Reconcile(uint32_t bucket);
  void ReadLife(const LiveName& name);
  void OnLifeRead(const LiveName& name, const absl::StatusOr<Node>& node);
  void ReadEnd(const LiveName& name);
  void OnEndRead(const LiveName& name, const std::string& path, const absl::StatusOr<Node>& node);
  void TellDown(const ServerDown& down);
  void OnRechecked(uint32_t bucket, const ServerDown& down,
                   const absl::StatusOr<std::vector<std::string>>& children);
  ServerLife TakeLife(const LiveName& name, const absl::StatusOr<Node>& node);
  // What the child's name says; nothing: it does not count, which is said.
  std::optional<LiveName> NameOf(const std::string& path);
  Bucket& BucketFor(const std::string& server);
  std::string PathOf(const LiveName& name) const;
  std::string FolderOf(uint32_t bucket) const;

  const WriterOptions options_;
  const OnEvent on_event_;
  std::vector<Bucket> buckets_;
  // Lives whose record, or whose server's registration, is being read.
  std::set<std::pair<std::string, Incarnation>> reading_;
};

}  // namespace shardmanager::orchestrator
