// Servers that their clients cannot use although their sessions live: a gray failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// A server is shunned when for kPatience at least kLeastClients clients, and more than can use it,
// say that they cannot. It is emptied and gets nothing new. It is tried again at growing intervals,
// and in a new life.
//
// What many clients see may be their own network: so only a share of the live servers is shunned,
// and none more while clients complain of more than that (F17). (A client that is in trouble with
// many of the servers that it uses does not complain: see router/server_report.h.)
class ClientTrouble {
 public:
  static constexpr uint32_t kLeastClients = 3;
  static constexpr Duration kPatience = Seconds(20);
  static constexpr uint32_t kMostPercent = 10;  // of the live servers; but one
  static constexpr Duration kFirstTrial = Seconds(300);
  static constexpr int kMostDoublings = 5;  // about 2.7 hours

  // How the clients get on with one server.
  struct Seen {
    ServerIndex server;
    uint32_t in_trouble = 0;
    uint32_t well = 0;
    std::string problem;
  };

  struct Case {
    TimePoint since{};           // enough clients have complained without a break
    bool complained_of = false;  // at the last hearing
    // What was said last by enough of them. (Nobody asks a server that is shunned.)
    uint32_t in_trouble = 0;
    uint32_t well = 0;
    std::string problem;
    bool shunned = false;
    uint8_t trials = 0;  // that failed
    TimePoint trial_at{};
  };

  struct Verdicts {
    std::vector<ServerIndex> shun;
    std::vector<ServerIndex> try_again;
    // Too many are complained of: nobody is shunned for now.
    bool too_many = false;
  };

  // What all clients say now; of a server that is not in `seen`, nothing is said.
  Verdicts Hear(TimePoint now, const std::vector<Seen>& seen, size_t live_servers);
  // A new process, which may be well. True: it was shunned, and is not any more. If it has to be
  // shunned again, that lasts as long as if this one had gone on.
  bool Restarted(ServerIndex server);

  bool IsShunned(ServerIndex server) const {
    const Case* found = Find(server);
    return found != nullptr && found->shunned;
  }
  // Null: nothing is held against it.
  const Case* Find(ServerIndex server) const {
    const auto found = cases_.find(server);
    return found == cases_.end() ? nullptr : &found->second;
  }
  size_t shunned() const { return shunned_; }
  bool too_many() const { return too_many_; }

 private:
  void TakeIn(TimePoint now, const std::vector<Seen>& seen);

  absl::flat_hash_map<ServerIndex, Case> cases_;
  size_t shunned_ = 0;
  bool too_many_ = false;
};

}  // namespace shardmanager::orchestrator
