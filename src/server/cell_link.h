// Carries out what Membership asks of the coordination store.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordination/paths.h"
#include "coordination/store.h"
#include "runtime/executor.h"
#include "server/membership.h"
#include "server/shards/shard_book.h"
#include "shardmanager/server.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::server {

// On the executor's thread. One session at a time; answers of former sessions are
// told apart by their tickets.
class CellLink {
 public:
  struct Callbacks {
    std::function<void(Membership::Event)> event;  // to be posted to the executor
    std::function<void(Assigned)> assigned;
  };

  // `endpoint`: where this server is reached.
  CellLink(const ServerOptions& options, std::string endpoint, CoordinationStoreFactory& stores,
           Executor& executor, Callbacks callbacks);
  ~CellLink();

  void NewSession();
  void Close();

  void Do(const ReadCell& action);
  void Do(const ReadApp& action);
  void Do(const ReadStanding& action);
  void Do(const Register& action);
  void Do(const ReadAssignment& action);
  void Do(const RenewLease& action);
  void Do(const SayGoodBye& action);

 private:
  void OnState(uint64_t session, SessionState state);
  void KeepRegistration(uint64_t ticket, Standing standing, const Node& node, absl::Status why);
  void ReadLives(uint64_t ticket, Standing standing);
  void ReadOrigins(uint64_t ticket, v1::AssignmentRecord record);
  void ListLives(uint64_t ticket, Standing standing);
  void ReadLife(uint64_t ticket, Standing standing, const LiveName& name);
  void ProbeLives(uint64_t ticket, const Standing& standing);
  std::vector<LiveName> PossibleLives(int32_t registration) const;
  v1::FaultDomain Place() const;
  std::string ServerRecordBytes(bool departed) const;
  std::string LiveRecordBytes(Incarnation incarnation) const;
  std::string LivePath(Incarnation incarnation) const;

  const ServerOptions options_;
  const std::string endpoint_;
  const AppName app_;
  const ServerName name_;
  const Paths paths_;
  CoordinationStoreFactory& stores_;
  Executor& executor_;
  const Callbacks callbacks_;
  std::unique_ptr<CoordinationStore> store_;
  uint64_t session_ = 0;
  TimePoint asked_at_{};                               // when that session was asked for
  std::chrono::milliseconds session_timeout_{10'000};  // the cell's, once it is known
  bool timeout_known_ = false;
  uint32_t buckets_ = 1;
};

}  // namespace shardmanager::server
