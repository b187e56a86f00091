// Servers that cannot add shards, whatever the shard: a full disk, a folder that cannot be
// written, a wrong build. Without a quarantine each plan would hand more shards to them, as they
// hold few.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/time.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// A server is sick when several different shards failed on it in a row while most servers are
// well, or another one added a shard: so it is neither the shards (see decide/failures.h) nor
// something that all servers suffer from. A sick server gets nothing new, keeps what it serves, and
// is tried with one shard at growing intervals until one succeeds.
class Quarantine {
 public:
  // Different shards in a row.
  static constexpr size_t kMostFailed = 3;
  static constexpr Duration kFirstTrial = Seconds(30);
  static constexpr int kMostDoublings = 5;  // 16 minutes

  struct Case {
    absl::InlinedVector<ShardIndex, kMostFailed> failed;  // different ones, in a row
    TimePoint since{};                                    // the first of them failed
    std::string error;                                    // of the last one
    bool sick = false;
    uint8_t trials = 0;  // that failed
    TimePoint trial_at{};
  };

  // The server could not add the shard. True: it is suspect, and is to be quarantined if most
  // servers are well.
  bool Failed(ServerIndex server, ShardIndex shard, TimePoint now, const std::string& error);
  // From now on, or on, until trial_at. REQUIRES: Failed() just gave true.
  void Begin(ServerIndex server, TimePoint now);
  // It has added a shard. True: that ends its quarantine.
  bool Added(ServerIndex server, TimePoint now);
  // A new process, which may be well. True: that ends its quarantine. The next one lasts as long
  // as if this one went on.
  bool Restarted(ServerIndex server);
  // An operator says that it is well: nothing is held against it. True: that ends its quarantine.
  bool Lift(ServerIndex server);

  bool IsSick(ServerIndex server) const {
    const Case* found = Find(server);
    return found != nullptr && found->sick;
  }
  // Null: nothing is held against it.
  const Case* Find(ServerIndex server) const {
    const auto found = cases_.find(server);
    return found == cases_.end() ? nullptr : &found->second;
  }
  // Its last add failed.
  bool IsFailing(ServerIndex server) const {
    const Case* found = Find(server);
    return found != nullptr && !found->failed.empty();
  }
  // Another server has added a shard since the first of those failed that failed here in a row.
  bool OthersCan(ServerIndex server) const {
    const Case* found = Find(server);
    const Success& other = newest_.server == server ? before_ : newest_;
    return found != nullptr && other.server.valid() && other.at >= found->since;
  }
  size_t sick() const { return sick_; }

 private:
  struct Success {
    ServerIndex server;  // invalid: none yet
    TimePoint at{};
  };
  absl::flat_hash_map<ServerIndex, Case> cases_;
  Success newest_;
  Success before_;  // the newest of another server
  size_t sick_ = 0;
};

}  // namespace shardmanager::orchestrator
