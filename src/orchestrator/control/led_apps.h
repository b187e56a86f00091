// The apps of the cell, while this process leads it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/spec_store.h"
#include "orchestrator/shell/event_log.h"
#include "orchestrator/shell/partition_driver.h"
#include "orchestrator/shell/ports.h"
#include "orchestrator/shell/unserved_since.h"
#include "runtime/executor.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// A driver for each app that is stored, and the writes of specs. Runs on the executor's thread,
// where answers come, too.
class LedApps {
 public:
  // All must outlive it.
  struct Context {
    CellSession& session;
    Executor& executor;
    Executor& solver;  // of plans, which may take long
    CommandSender& sender;
    MapPublisher& publisher;
    EventLog& events;
    // Another process has a higher leader epoch.
    std::function<void()> deposed;
    Meter* meter = nullptr;  // null: nothing is measured
  };
  using Drivers = std::map<std::string, std::unique_ptr<PartitionDriver>>;

  explicit LedApps(Context context) : context_(std::move(context)) {}

  void Begin(LeaderEpoch epoch);
  void End();
  bool begun() const { return lead_.has_value(); }
  // Has each driver read its records again, and lists the stored apps; and again every 10 s. Does
  // nothing while not begun().
  void Relook();

  // Each stored app has its driver among drivers(). REQUIRES: begun(), for this and all below.
  bool listed() const { return lead_->listed; }
  const Drivers& drivers() const { return lead_->drivers; }

  // Creates and starts the driver of this app, unless it has one. If the app has no spec in the
  // store, the driver says so and is removed again.
  void Add(const std::string& app);
  // Null: there is none, or its spec was not read yet.
  PartitionDriver* Find(const std::string& app) const;
  // REQUIRES: the app's state was read.
  Health LookAtHealth(const std::string& app, TimePoint now);
  // Why Find() is null: NOT_FOUND, or UNAVAILABLE while its spec is read.
  absl::Status NoSuch(const std::string& app) const;

  // `base`: the version of the record that the spec replaces, or kNewApp.
  struct SpecToWrite {
    v1::StoredSpec spec;
    int32_t base;
  };
  static constexpr int32_t kNewApp = -1;
  // OK means durable; else the errors of SpecStore.
  using Done = std::function<void(absl::Status)>;
  void WriteSpec(const SpecToWrite& change, Done done, const Wanted& wanted = {});
  // RESOURCE_EXHAUSTED: WriteSpec() would say that it is too large.
  absl::Status CheckSize(const SpecToWrite& change) const;
  // Answers once every write has ended: OK if all are durable, else with the first error; others
  // may be durable then. REQUIRES: `changes` is not empty.
  void WriteSpecs(const std::vector<SpecToWrite>& changes, Done done, const Wanted& wanted);

 private:
  SpecStore Specs() const;
  struct Lead {
    LeaderEpoch epoch;
    bool listed = false;
    Drivers drivers;
    std::map<std::string, Counted> counted;  // of the apps that were deleted
    std::map<std::string, UnservedSince> unserved;
  };

  void List();
  void OnListed(const std::vector<std::string>& apps);
  void Remove(const std::string& app);
  // Tells subscribers which apps there are, once that is known.
  void TellApps() const;
  PartitionDriver::Callbacks CallbacksFor(const std::string& app);

  const Context context_;
  std::optional<Lead> lead_;
  bool relook_planned_ = false;
};

// OK: the app's state has been read. UNAVAILABLE: not yet, or its records cannot be read; the
// message says why.
absl::Status MayLookAt(const std::string& name, const PartitionDriver& app);
// The app, if MayLookAt(). NOT_FOUND also: there is none.
absl::StatusOr<PartitionDriver*> FindToLookAt(const LedApps& apps, const std::string& name);
// OK, or FAILED_PRECONDITION: what is stored is the base of a change, and cannot be read.
absl::Status MayChangeSpec(const PartitionDriver& app);

}  // namespace shardmanager::orchestrator
