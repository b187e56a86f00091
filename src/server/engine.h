// The server library without gRPC and without threads: the two cores, the link to the
// cell, and the gates of admission, tied together on one Executor. ServerImpl puts it
// on threads behind gRPC; the simulator runs many of them under virtual time.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/core_driver.h"
#include "runtime/executor.h"
#include "server/admission_table.h"
#include "server/cell_link.h"
#include "server/gate_keeper.h"
#include "server/membership.h"
#include "server/shards/shard_book.h"
#include "shardmanager/server.h"

namespace shardmanager::server {

class Engine {
 public:
  // What the engine asks of its owner, on the executor's thread. None may block.
  struct Ports {
    // Run the application's method elsewhere; Done() answers. Of kSetMembers, at most
    // ServerOptions::command_threads calls that add a member run at a time, and as many others.
    std::function<void(const HandlerCall&)> call;
    // To the command that waits.
    std::function<void(const Reply&)> reply;
    std::function<void(const Refuse&)> refuse;
    // OK: the server is a member of the cell (again, perhaps). An error: it can never be one.
    std::function<void(absl::Status)> joined;
    std::function<void()> emptied;  // after Stop: no shard is held
    std::function<void()> gone;     // after Leave: its membership has ended
  };
  // What CollectLoad tells before the application is asked.
  struct Holdings {
    std::vector<ShardBook::Held> shards;
    Duration lease_remaining{};
  };

  // All must outlive the engine. Destroy it on the executor's thread, or after the
  // executor has stopped. `now` is the clock of admission (AdmissionTable).
  Engine(const ServerOptions& options, Executor& executor, CoordinationStoreFactory& stores,
         Ports ports, AdmissionTable::Clock now);

  // ---- from any thread ----
  // Joins the cell, as long as it takes. `endpoint`: where this server is reached.
  void Start(const std::string& endpoint);
  void Obey(Command command);
  // When it was last told to let a shard go.
  TimePoint let_go_at() const { return TimePoint(Duration(let_go_at_.load())); }
  void Report(const Grant& grant, double fraction);
  void Done(HandlerDone done);
  // Admits nothing more and lets every shard go.
  void Stop();
  // `good_bye`: nothing works with a shard any more.
  void Leave(bool good_bye) { membership_.Post(server::Leave{good_bye}); }
  AdmissionTable& gates() { return gates_; }

  // ---- on the executor's thread ----
  // FAILED_PRECONDITION: the header is for another app, server or life. The leader epoch is not
  // checked: this only reads.
  absl::StatusOr<Holdings> Look(const Command& header) const;
  const ShardBook& book() const { return book_.core(); }
  Incarnation incarnation() const { return incarnation_; }
  // Ends the session.
  void Close();

 private:
  void OnDrained(const ShardId& shard);

  void Do(HandlerCall& action);
  void Do(Reply& action) { ports_.reply(action); }
  void Do(Refuse& action) { ports_.refuse(action); }
  void Do(Warn& action);
  void Do(Emptied&) { ports_.emptied(); }
  void Do(SetLease& action) { gates_.SetLease(action.until); }
  void Do(AwaitLease&) { gates_.AwaitLease(); }
  void Do(SetPolicy& action);
  void Do(BecameMember& action);
  void Do(NewSession&) { link_->NewSession(); }
  void Do(GiveUp& action);
  void Do(Waiting& action);
  void Do(Gone&) { ports_.gone(); }
  // What the store is asked: see CellLink. The rest is for the gates.
  template <typename Action>
  void Do(Action& action) {
    if constexpr (IsForGates<Action>) {
      return gate_keeper_.Do(action);
    } else {
      link_->Do(action);
    }
  }

  const ServerOptions options_;
  Executor& executor_;
  CoordinationStoreFactory& stores_;
  const Ports ports_;
  AdmissionTable gates_;
  GateKeeper gate_keeper_{gates_, [this](const ShardId& shard) { book_.Post(Drained{shard}); }};
  std::string endpoint_;
  Incarnation incarnation_;
  std::atomic<int64_t> let_go_at_{0};
  std::optional<CellLink> link_;
  std::map<ShardId, AdmissionSlot*> pinned_;  // while the application sets members
  CoreDriver<ShardBook> book_;
  CoreDriver<Membership> membership_;
};

}  // namespace shardmanager::server
