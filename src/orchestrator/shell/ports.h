// What the orchestrator's drivers need from the world above them. src/wire and
// src/daemon implement these; tests give fakes.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "orchestrator/state/partition_io.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::orchestrator {

// One life of one server, and who asks.
struct ServerAddress {
  AppName app;
  ServerName server;
  Incarnation incarnation;
  LeaderEpoch leader_epoch;
  std::string endpoint;  // "host:port"
};

struct NamedGrant {
  ShardId shard;
  Role role;
  ShardEpoch epoch;
  ShardEpoch next_epoch = {};  // kPrepareDrop: the new owner's
  std::optional<Members> members = std::nullopt;
  uint64_t members_version = 0;
  // Of a shard that takes the place of others: those, and its keys.
  std::vector<ShardId> made_of = {};
  v1::KeyRange range = {};
  bool hash_keys = false;
  std::string operation = {};  // as ShardGrant has it
};

// One command, for shards of one server.
struct ServerCommand {
  CommandKind kind = CommandKind::kAdd;
  std::vector<NamedGrant> grants;
  // Who hands over (kPrepareAdd), takes (kPrepareDrop), or is to be the primary (kChangeRole).
  Peer other = {};
};

struct NamedResult {
  ShardId shard;
  ShardEpoch epoch;
  CommandOutcome outcome = CommandOutcome::kDone;
  double progress = 0;
  std::string error;
  ShardEpoch serving_epoch = ShardEpoch();
};

// Sends commands to application servers. Thread-safe; callbacks come on any thread.
class CommandSender {
 public:
  using ResultsCallback = std::function<void(std::vector<NamedResult>)>;
  using ReportCallback = std::function<void(absl::StatusOr<Holdings>)>;
  using StatusCallback = std::function<void(absl::Status)>;

  virtual ~CommandSender() = default;
  // `on_results` gets exactly one final result for each grant, in one or more calls,
  // and any number of kLoading before it. A broken or late call ends in
  // kUnreachable.
  virtual void Send(const ServerAddress& to, ServerCommand command, Duration timeout,
                    ResultsCallback on_results) = 0;
  virtual void Collect(const ServerAddress& to, ReportCallback on_report) = 0;
  // May these shards be replaced? Answered once: by the application, or with UNAVAILABLE.
  virtual void AskReshape(const ServerAddress& to, const v1::Reshape& reshape,
                          StatusCallback on_answer) = 0;
};

// Takes shard maps to whoever serves them. Thread-safe.
class MapPublisher {
 public:
  virtual ~MapPublisher() = default;
  virtual void Publish(const AppName& app, v1::MapSnapshot map) = 0;
  virtual void Publish(const AppName& app, v1::MapDelta delta) = 0;
  // All the apps that the cell has, from now on. `cell`: CellIdentity().
  virtual void KnowApps(const std::string& cell, std::set<std::string> apps) {
    static_cast<void>(cell);
    static_cast<void>(apps);
  }
  // Which apps there are is not known any more.
  virtual void ForgetApps() {}
};

// What the drivers measure. Thread-safe. Each call must return at once.
class Meter {
 public:
  virtual ~Meter() = default;
  // The allocator took so long for one plan.
  virtual void Planned(Duration took) = 0;
  // A batch of assignments was written, or refused, so long after it was sent.
  virtual void Wrote(WriteOutcome outcome, Duration took) = 0;
  // A server's final answer for one shard, so long after the command was sent.
  virtual void Commanded(CommandKind kind, CommandOutcome outcome, Duration took) = 0;
  // A new leader has read the app's records, and decides from now on.
  virtual void TookOver(Duration took) = 0;
};

// What clients say of the servers of an app now, all together; of those that nobody speaks of,
// nothing. Thread-safe.
using ClientViewsPort = std::function<std::vector<v1::ServerSeen>(const AppName& app)>;

}  // namespace shardmanager::orchestrator
