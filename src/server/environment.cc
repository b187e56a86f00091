#include "server/environment.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordination/access/store_access.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "runtime/clock.h"
#include "runtime/serial_executor.h"

namespace shardmanager::server {
namespace {

struct Makers {
  std::mutex mutex;
  std::map<std::string, EnvironmentMaker> by_string;
};

Makers& TheMakers() {
  static auto* makers = new Makers;  // never destroyed: servers may be made at any time
  return *makers;
}

Environment Production(const ServerOptions& options) {
  auto access = AccessOfServer(options.zookeeper_credentials, options.cell, AppName(options.app),
                               ServerName(options.name));
  auto transport = wire::Transport::Make(options.security, options.cell,
                                         {security::AServerOf(options.app, options.name)});
  absl::Status problem = access.status();
  if (!access.ok()) access = nullptr;
  if (!transport.ok()) {
    problem.Update(absl::Status(
        transport.status().code(),
        absl::StrCat("ServerOptions.security: ", std::string(transport.status().message()))));
    transport = wire::Transport::Insecure();  // of a server that does not start
  }
  return {.problem = std::move(problem),
          .transport = *std::move(transport),
          .stores = std::make_unique<ZookeeperStoreFactory>(options.zookeeper, *std::move(access)),
          .executor = std::make_unique<SerialExecutor>("sm-server"),
          .now = MonotonicNow,
          .clients_lag = Milliseconds(200),
          .holds_lapsed = true};
}

}  // namespace

Environment EnvironmentOf(const ServerOptions& options) {
  if (!absl::StartsWith(options.zookeeper, {kTestPrefix.data(), kTestPrefix.size()}))
    return Production(options);
  Makers& makers = TheMakers();
  std::unique_lock lock(makers.mutex);
  const auto found = makers.by_string.find(options.zookeeper);
  if (found == makers.by_string.end()) {
    Environment nowhere = Production(options);
    nowhere.problem = absl::InvalidArgumentError(
        absl::StrCat("ServerOptions.zookeeper: found \"", options.zookeeper,
                     "\", a TestCell that is not there (any more); allowed: \"host:port\", or the "
                     "options of a TestCell that stands"));
    return nowhere;
  }
  const EnvironmentMaker make = found->second;
  lock.unlock();
  return make(options);
}

void PutEnvironment(const std::string& connect_string, EnvironmentMaker make) {
  Makers& makers = TheMakers();
  std::lock_guard lock(makers.mutex);
  const bool is_new = makers.by_string.emplace(connect_string, std::move(make)).second;
  SM_CHECK(is_new, "each test environment has a connect string of its own");
}

void RemoveEnvironment(const std::string& connect_string) {
  Makers& makers = TheMakers();
  std::lock_guard lock(makers.mutex);
  makers.by_string.erase(connect_string);
}

}  // namespace shardmanager::server
