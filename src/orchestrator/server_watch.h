// Which lives of servers are there: watches on the buckets of live nodes, turned into
// ServerUp and ServerDown.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "coordination/paths.h"
#include "coordination/store.h"
#include "orchestrator/batch_writer.h"
#include "orchestrator/partition_io.h"

namespace shardmanager::orchestrator {

// On the driver's thread only. Level-triggered: whatever a watch was fired for, the
// bucket is listed again and compared with what is known.
class ServerWatch {
 public:
  using OnEvent = std::function<void(Event)>;

  ServerWatch(WriterOptions options, OnEvent on_event);

  // Lists all buckets and begins to watch. Lives seen so far are given to `done`;
  // later ones come as events.
  void Begin(std::function<void(absl::StatusOr<std::vector<ServerLife>>)> done);

  // Looks at one server again, from its registration on: after a failover write met
  // a new life.
  void Recheck(const std::string& server);

  // Lists all buckets again, in case a watch was missed or could not be set. Cheap:
  // call it now and then, and when the store is reached again.
  void Relist();

 private:
  using Lives = std::map<std::string, Incarnation>;  // by server name

  void ListBucket(uint32_t bucket, bool watch);
  void OnListed(uint32_t bucket, bool watch,
                const absl::StatusOr<std::vector<std::string>>& children);
  void Compare(uint32_t bucket, const Lives& now);
  void ReadLife(const std::string& server, Incarnation incarnation);
  void OnLifeRead(const LiveName& name, const absl::StatusOr<Node>& node);
  ServerLife TakeLife(const LiveName& name, const Node& node);
  std::string PathOf(const LiveName& name) const;
  void ReadEnd(const std::string& server, Incarnation incarnation);

  const WriterOptions options_;
  const OnEvent on_event_;
  std::vector<Lives> lives_;   // by bucket
  std::vector<bool> watched_;  // by bucket: a watch is set or being set
};

}  // namespace shardmanager::orchestrator
