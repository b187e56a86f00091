// One control-plane process: its session with the store, its candidacy, and, while
// it leads, a driver for each app.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordination/election.h"
#include "coordination/session_check.h"
#include "coordination/store.h"
#include "orchestrator/control/lead_lease.h"
#include "orchestrator/control/spec_store.h"
#include "orchestrator/shell/event_log.h"
#include "orchestrator/shell/partition_driver.h"
#include "orchestrator/shell/ports.h"
#include "runtime/executor.h"
#include "runtime/logging.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

struct ControllerOptions {
  // Written if the cell does not exist yet; what is stored wins.
  v1::CellConfig cell;
  // Who we are, for people: "host/pid".
  std::string process;
  // False: ZooKeeper's minSessionTimeout was set by hand, and says nothing of its tickTime.
  bool min_session_timeout_tells_tick = true;
  // The time of day, for CellConfig.made_ms of a cell that this process makes: asked when it does,
  // as a process that has run for long may find the store emptied. Empty: as `cell` has it.
  std::function<int64_t()> wall_ms = nullptr;
};

// Thread-safe. Replies come on the controller's own thread.
class Controller {
 public:
  template <typename T>
  using Reply = std::function<void(absl::StatusOr<T>)>;
  // Does somebody still wait for the answer? Asked before a change is begun: once the caller
  // has gone, and has reported a failure, nothing is begun any more. Thread-safe; empty: yes.
  using Wanted = std::function<bool()>;

  // Where it runs. Null: a thread of its own.
  struct Executors {
    std::unique_ptr<Executor> control;
    std::unique_ptr<Executor> solver;  // of plans, which may take long
  };

  // All must outlive the controller.
  Controller(ControllerOptions options, CoordinationStoreFactory& stores, CommandSender& sender,
             MapPublisher& publisher, EventLog& events, Executors executors = {});
  ~Controller();

  // Returns at once; connects, and stands for election, as long as it takes. `endpoint`:
  // where others reach our admin and discovery services.
  void Start(const std::string& endpoint);
  // Resigns (so that a standby takes over at once) and ends the session. Idempotent.
  void Stop();

  // What operators ask (admin.proto). All but GetStatus answer FAILED_PRECONDITION
  // while another process leads, UNAVAILABLE while nobody is known to. Changes answer
  //   CANCELLED     nobody waits for them; nothing was changed
  //   UNAVAILABLE   the store is out of reach; the message says whether the change may have
  //                 happened
  void ApplyApp(v1::ApplyAppRequest request, Reply<v1::ApplyAppResponse> reply, Wanted wanted = {});
  void DeleteApp(v1::DeleteAppRequest request, Reply<v1::DeleteAppResponse> reply,
                 Wanted wanted = {});
  void GetApps(v1::GetAppsRequest request, Reply<v1::GetAppsResponse> reply);
  void GetServers(v1::GetServersRequest request, Reply<v1::GetServersResponse> reply);
  void GetShards(v1::GetShardsRequest request, Reply<v1::GetShardsResponse> reply);
  // Computed where plans are: it may wait for one that is being made.
  void ExplainShard(v1::ExplainShardRequest request, Reply<v1::ExplainShardResponse> reply);
  void Drain(v1::DrainRequest request, Reply<v1::DrainResponse> reply, Wanted wanted = {});
  void Undrain(v1::UndrainRequest request, Reply<v1::UndrainResponse> reply, Wanted wanted = {});
  void ReleaseServer(v1::ReleaseServerRequest request, Reply<v1::ReleaseServerResponse> reply,
                     Wanted wanted = {});
  void GetStatus(Reply<v1::GetStatusResponse> reply);
  // A subscriber of the app's maps holds one of this cell by a leader with a higher epoch than
  // those that we publish.
  void SubscriberIsAhead(const AppName& app, MapVersion known);
  EventLog& events() { return events_; }
  // And can prove it.
  bool leads() const { return leads_; }

  // Called (on the controller's thread) when the process cannot go on, for example
  // because the path belongs to another cell, or ZooKeeper grants other sessions than the
  // cell's leases need.
  std::function<void(absl::Status)> on_fatal;
  // Called (on the controller's thread) when the store answers, and when it has not for so
  // long that this process knows nothing for certain any more: `in_touch` is false until the
  // first call. What it publishes or passes on may be out of date then.
  std::function<void(bool in_touch)> on_touch;
  // Called (on the controller's thread) when it is known anew who leads: the endpoint of
  // the other process that does; "": this one does. Not when nobody does.
  std::function<void(const std::string& other_leader)> on_leader;

 private:
  struct Lead {
    LeaderEpoch epoch;
    bool listed = false;  // `apps` has all that are stored
    std::map<std::string, std::unique_ptr<PartitionDriver>> apps;
    std::map<std::string, Counted> counted;  // of the apps that were deleted
  };

  // Session and election, on the executor's thread.
  void NewSession();
  void OnSession(uint64_t session, SessionState state);
  void JoinCell();
  void CheckSessions(const SessionTerms& terms, std::function<void(absl::Status)> done);
  void CheckAgain();
  // Tells on_fatal.
  void GiveUp(const char* what, const absl::Status& why);
  void MakeCell(const SessionTerms& checked);
  void OnCell(absl::StatusOr<v1::CellConfig> config);
  void OnElected(LeaderEpoch epoch);
  void OnLost(const std::string& why);
  void EndLead();
  void OnObserved(std::optional<v1::LeaderRecord> leader);
  void Later(uint64_t session, Duration delay, void (Controller::*what)());

  // The lease of this process: what it knows is certain while the store answers
  // (src/orchestrator/control/lead_lease.cc).
  void Beat();
  void BeatAt(TimePoint when);
  void Renew();
  void RenewAnew();
  void OnRenewed(TimePoint sent_at, const absl::StatusOr<Node>& holder);
  bool InTouch() const;
  void LookAtLease();
  absl::Status OutOfTouch() const;
  // OK: this process leads and can prove it.
  absl::Status MayAnswer() const;
  // And may begin a change now.
  absl::Status MayChange(const Wanted& wanted) const;

  // Apps, while leading.
  void ListApps();
  void OnApps(const std::vector<std::string>& apps);
  void AddApp(const std::string& app);
  void RemoveApp(const std::string& app);
  void Relook();
  PartitionDriver* FindApp(const std::string& app);
  absl::Status NotLeading() const;
  absl::Status NoSuchApp(const std::string& app) const;
  // Changes the stored specs of several apps, and answers when all are durable, or with the
  // first error.
  struct SpecToWrite {
    v1::StoredSpec spec;
    int32_t base;
  };
  using SpecChanges = std::vector<SpecToWrite>;
  void WriteSpecs(const SpecChanges& changes, SpecStore::Done done, const Wanted& wanted);
  void ReplaceDamagedSpec(PartitionDriver* app, const v1::ApplyAppRequest& request,
                          Reply<v1::ApplyAppResponse> reply);
  static absl::Status MayChangeSpec(const PartitionDriver& app);
  // `base` is the version of the record that the spec replaces, or kNewApp.
  static constexpr int32_t kNewApp = -1;
  void WriteSpec(const v1::StoredSpec& spec, int32_t base, SpecStore::Done done,
                 const Wanted& wanted = {});
  void Record(const char* kind, const std::string& message, bool trouble = false);
  // Runs `work` on the controller's thread if this process leads and can prove it.
  template <typename T>
  void OnThread(const Reply<T>& reply, std::function<void()> work) {
    executor_->Post([this, reply, work = std::move(work)] {
      if (absl::Status may = MayAnswer(); !may.ok()) return reply(may);
      work();
    });
  }
  // The same for a change.
  template <typename T>
  void ToChange(const Reply<T>& reply, const Wanted& wanted, std::function<void()> work) {
    executor_->Post([this, reply, wanted, work = std::move(work)] {
      OnceInTouch({executor_->Now() + kHoldChanges, [this, reply, wanted, work] {
                     if (absl::Status may = MayChange(wanted); !may.ok()) return reply(may);
                     work();
                   }});
    });
  }
  // What an operator asks for while the connection is lost, or the lease has lapsed, waits for its
  // renewal, as requests to a server do; but not for long: who asks wants to hear of it.
  static constexpr Duration kHoldChanges = Seconds(2);
  struct HeldChange {
    TimePoint until;
    std::function<void()> begin;
  };
  void OnceInTouch(HeldChange change);

  const ControllerOptions options_;
  const Paths paths_;
  CoordinationStoreFactory& stores_;
  CommandSender& sender_;
  MapPublisher& publisher_;
  EventLog& events_;

  std::once_flag stop_once_;
  v1::LeaderRecord self_;
  uint64_t session_ = 0;  // counts sessions: callbacks of old ones are ignored
  bool stopping_ = false;
  std::chrono::milliseconds session_timeout_{};  // what sessions are asked for
  std::unique_ptr<CoordinationStore> store_;
  std::unique_ptr<SessionCheck> session_check_;  // while joining, and after each reconnection
  std::unique_ptr<LeaderElection> election_;
  v1::CellConfig cell_;
  bool joined_ = false;
  bool relook_timer_ = false;
  LeadLease lease_;
  std::vector<HeldChange> held_changes_;
  uint64_t beats_ = 0;     // counts beats: the newest one that was planned is made
  uint64_t renewals_ = 0;  // counts renewals: answers of others than the newest are ignored
  bool renewing_ = false;  // one renewal at a time is out
  bool in_touch_ = false;  // as on_touch was told
  std::optional<v1::LeaderRecord> leader_;
  std::optional<Lead> lead_;
  std::atomic<bool> leads_{false};  // lead_ is set, and its lease runs
  Repeater unreachable_;

  const std::unique_ptr<Executor> solver_;
  const std::unique_ptr<Executor> executor_;  // last: stops first
};

}  // namespace shardmanager::orchestrator
