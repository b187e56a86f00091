// The shell around one Partition: reads its state from the store, feeds it, and
// carries out what it decides. Threads, clock, store and network live here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordination/store.h"
#include "model/map_version.h"
#include "orchestrator/core/partition.h"
#include "orchestrator/shell/app_removal.h"
#include "orchestrator/shell/app_tasks.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/shell/change_outcome.h"
#include "orchestrator/shell/damaged_records.h"
#include "orchestrator/shell/event_log.h"
#include "orchestrator/shell/map_builder.h"
#include "orchestrator/shell/ports.h"
#include "orchestrator/shell/recovery.h"
#include "orchestrator/shell/server_calls.h"
#include "orchestrator/shell/server_watch.h"
#include "orchestrator/shell/spec_watch.h"
#include "runtime/core_driver.h"
#include "runtime/executor.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// What all partitions of a control plane share. Outlives them.
struct DriverContext {
  Executor* executor;  // the one thread of the control plane's decisions
  Executor* solver;    // where plans are computed
  CoordinationStore* store;
  CommandSender* sender;
  MapPublisher* publisher;
  EventLog* events;
  Paths paths;
  uint32_t buckets;
  LeaderEpoch leader_epoch;
  std::string cell;                  // CellIdentity()
  int64_t cell_made_ms = 0;          // CellConfig.made_ms
  std::function<int64_t()> wall_ms;  // milliseconds since 1970
  Meter* meter = nullptr;            // null: nothing is measured
};

// What one app's drivers under one leader must not use twice: where the last one
// stopped counting. An app may be deleted and made again.
struct Counted {
  uint32_t epochs = 0;
  uint64_t maps = 0;
};

// Made, used and destroyed on the executor's thread.
class PartitionDriver {
 public:
  struct Callbacks {
    std::function<void()> deposed;  // somebody else leads: stop everything
    std::function<void()> deleted;  // the app's records are gone; destroy the driver
    // What was read is void: destroy the driver and make another one.
    std::function<void()> restart;
  };

  PartitionDriver(DriverContext context, AppName app, Counted counted, Callbacks callbacks);
  ~PartitionDriver();

  // Reads the app's state, then runs. Tries again while the store is out of reach.
  void Start();

  // The store's connection is back, or it is time for a full look.
  void Relook();

  // What was just written as the spec's next version: need not be read back.
  void TakeSpec(v1::StoredSpec stored, int32_t version);

  // What happens outside: the partition hears it now, or when its state has been read.
  void Hear(Event event);

  // Null until the state was read.
  const PartitionState* state() const;
  // Expires with the driver: what was computed from its partition meanwhile is void.
  std::weak_ptr<int> life() const { return alive_; }
  v1::MapVersion map_version() const { return maps_.version(); }
  Counted counted() const;
  const SpecWatch& spec() const { return spec_; }
  const DamagedRecords& damaged() const { return damaged_; }
  // See release.h. NOT_FOUND: there is nothing to release. `done` comes on the driver's
  // thread, or never if the driver has gone.
  void Release(const std::string& server, std::function<void(absl::StatusOr<std::string>)> done,
               Wanted wanted);
  // For writes beside those that the partition decides. What is posted is dropped once the driver
  // has gone.
  WriterOptions MakeWriterOptions();
  // To its servers. REQUIRES: the state was read.
  ServerCalls* calls() { return &*calls_; }
  // Its container operations. Null until the state was read.
  AppTasks* tasks() const { return core_ == nullptr ? nullptr : tasks_.get(); }
  // Why the state cannot be read, if so.
  const absl::Status& problem() const { return problem_; }

 private:
  SpecWatch::Callbacks SpecCallbacks();
  void OnSpec();
  void BeginRecovery();
  void OnRecovered(absl::StatusOr<RecoveredState> state);
  void RetryLater(const absl::Status& why);

  void Do(Persist& action);
  void Do(SendCommands& action) { calls_->Send(action); }
  void Do(Collect& action) { calls_->Ask(action); }
  void Do(ComputePlan& action);
  void Do(Publish& action);
  void Do(Note& action);
  void Do(ShowTraffic& action) { context_.events->Show(app_.value(), action.figures); }
  void Do(Emptied&) { removal_.Begin(); }
  void Do(StepDown&) { callbacks_.deposed(); }
  // Tasks that it posts are dropped once the owner of `alive` has gone.
  PostFn MakePost(std::weak_ptr<int> alive) const;

  const DriverContext context_;
  const AppName app_;
  const Callbacks callbacks_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();

  absl::Status problem_;
  TimePoint started_at_{};
  Duration wall_offset_{};  // of the wall clock, when the core was last told of another one
  DamagedRecords damaged_;
  SpecWatch spec_;
  AppRemoval removal_;
  const Counted counted_;  // before this driver
  MapBuilder maps_;
  // The attempt to read the state that `watch_` belongs to: what a failed one still had
  // out finds nobody.
  std::shared_ptr<int> attempt_;
  std::unique_ptr<ServerWatch> watch_;
  std::unique_ptr<BatchWriter> writer_;
  std::unique_ptr<CoreDriver<Partition>> core_;
  std::optional<ServerCalls> calls_;  // as long as core_
  std::unique_ptr<AppTasks> tasks_;   // as long as watch_
  std::vector<Event> early_;          // before the core is there
};

// The spec that is stored now, if it cannot be read; null: it was.
inline const DamagedRecord* DamagedSpec(const PartitionDriver& app) {
  return app.damaged().Find(RecordKind::kSpec, "");
}

}  // namespace shardmanager::orchestrator
