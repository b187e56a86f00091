// A real private ZooKeeper behind the harness: one server per test program, one
// folder per harness, one TcpProxy per session.
#pragma once

#include <condition_variable>
#include <map>

#include "coordination/zookeeper/private_zookeeper.h"
#include "tests/coordination/store_harness.h"
#include "tests/coordination/tcp_proxy.h"

namespace shardmanager {

class ZookeeperHarness final : public StoreHarness {
 public:
  ZookeeperHarness();
  ~ZookeeperHarness() override;

  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override;
  bool Await(const std::function<bool()>& done) override;
  void Notify() override;

  void Disconnect(CoordinationStore& session) override;
  void Reconnect(CoordinationStore& session) override;
  void Expire(CoordinationStore& session) override;
  void SwallowAnswers(CoordinationStore& session) override;
  void StopStore() override;
  void StartStore() override;

  TcpProxy& proxy(CoordinationStore& session) { return *proxies_.at(&session); }

 private:
  static PrivateZookeeper& Server();

  std::string folder_;
  std::map<CoordinationStore*, std::unique_ptr<TcpProxy>> proxies_;
  std::mutex mutex_;
  std::condition_variable notified_;
  uint64_t notifications_ = 0;
};

}  // namespace shardmanager
