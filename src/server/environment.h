// What a server library stands on: the coordination store, threads and a clock. In
// production ZooKeeper, threads of its own and the monotonic clock; for tests others, found by
// the connect string, so that an application's server needs no change to be tested
// (include/shardmanager/testing.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "coordination/store.h"
#include "runtime/executor.h"
#include "server/admission_table.h"
#include "shardmanager/server.h"
#include "wire/transport.h"

namespace shardmanager::server {

struct Environment {
  // Not OK: nothing can be started here.
  absl::Status problem;
  std::shared_ptr<const wire::Transport> transport = wire::Transport::Insecure();
  std::unique_ptr<CoordinationStoreFactory> stores;
  std::unique_ptr<Executor> executor;
  // That of the executor, too.
  AdmissionTable::Clock now = nullptr;
  // Within so long after a shard went elsewhere its clients know; until then a server that
  // stops goes on sending on what they send.
  Duration clients_lag{};
  // Requests wait for the renewal of a lapsed lease. Not where the clock stands still.
  bool holds_lapsed = false;
  // Null, or what stands between the library and the application's handler.
  std::function<std::unique_ptr<ShardHandler>(ShardHandler& handler)> around = nullptr;
  // Null, or called when the server has asked to leave the cell, before it waits until it has.
  std::function<void()> leaving = nullptr;
};

// That of ServerOptions::zookeeper. With a problem: INVALID_ARGUMENT, it begins as a test's does
// (kTestPrefix), and no such one stands; or the errors of AccessOfServer() (zookeeper_credentials)
// and of Transport::Make() (security).
Environment EnvironmentOf(const ServerOptions& options);

// ---- for tests. Thread-safe.
inline constexpr std::string_view kTestPrefix = "testing:";
using EnvironmentMaker = std::function<Environment(const ServerOptions& options)>;
// Servers made from here on whose connect string is this one get what `make` makes. REQUIRES:
// the string begins with kTestPrefix and nobody has put one there.
void PutEnvironment(const std::string& connect_string, EnvironmentMaker make);
void RemoveEnvironment(const std::string& connect_string);

}  // namespace shardmanager::server
