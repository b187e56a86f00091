// The coordination store of a test cell: in memory, with the cell and one app in it, and with
// what stands between each server and it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordination/memory/memory_ensemble.h"
#include "coordination/paths.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"
#include "testing/virtual_loop.h"

namespace shardmanager::testing_internal {

// Thread-safe, but not to be called on the loop's thread; its sessions live on that.
class MemoryCell {
 public:
  static constexpr std::chrono::milliseconds kTick{200};

  MemoryCell(std::shared_ptr<VirtualLoop> loop, const std::string& cell, AppName app,
             std::chrono::milliseconds session_timeout, v1::OnPartition on_partition);
  ~MemoryCell();
  MemoryCell(const MemoryCell&) = delete;
  MemoryCell& operator=(const MemoryCell&) = delete;

  // Of the sessions of one server. It keeps the cell.
  static std::unique_ptr<CoordinationStoreFactory> FactoryFor(std::shared_ptr<MemoryCell> cell,
                                                              const ServerName& server);

  // Replaces what the servers are assigned, in one write.
  // RESOURCE_EXHAUSTED: more shards than a record holds.
  absl::Status Assign(const std::vector<v1::AssignmentRecord>& records);

  // A server's registered life, if the store knows its session.
  struct Life {
    Incarnation incarnation;
    std::string endpoint;
  };
  std::optional<Life> LifeOf(const ServerName& server);

  void CutOff(const ServerName& server);
  void Reconnect(const ServerName& server);

 private:
  class Factory;

  std::unique_ptr<CoordinationStore> NewSession(const ServerName& server, SessionOptions options);
  void SetUp(const std::string& cell, std::chrono::milliseconds session_timeout,
             v1::OnPartition on_partition);
  // On the thread. REQUIRES: it can be written.
  void Write(std::vector<WriteOp> ops);
  TimePoint Pump();

  const std::shared_ptr<VirtualLoop> loop_;
  const Paths paths_;
  const AppName app_;
  // The rest on the thread.
  MemoryEnsemble ensemble_;
  VirtualLoop::PumpId pump_ = 0;
  std::unique_ptr<CoordinationStore> store_;  // the control plane's session
  std::multimap<ServerName, SessionNumber> sessions_;
  std::set<ServerName> cut_off_;
};

}  // namespace shardmanager::testing_internal
