// Carries a Persist out: one fenced multi, and a clear answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/time.h"
#include "coordination/paths.h"
#include "coordination/store.h"
#include "orchestrator/shell/ports.h"
#include "orchestrator/state/partition_io.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

class DamagedRecords;

// Runs a task later on the driver's thread, or never if the driver has gone.
using PostFn = std::function<void(std::function<void()>)>;

struct WriterOptions {
  CoordinationStore* store;
  Paths paths;
  AppName app;
  uint32_t buckets;
  LeaderEpoch leader_epoch;
  PostFn post;
  DamagedRecords* damaged = nullptr;  // where those are told that cannot be read
  Meter* meter = nullptr;             // null: nothing is measured
};

// On the driver's thread only. One write at a time.
class BatchWriter {
 public:
  using Done = std::function<void(WriteDone)>;

  BatchWriter(WriterOptions options, absl::flat_hash_set<std::string> existing_records)
      : options_(std::move(options)), existing_(std::move(existing_records)) {}

  // Every write checks the leader epoch, so a deposed leader's write has no effect.
  // A lost connection leaves it open whether the write happened: it is read back,
  // never blindly repeated.
  void Write(const Persist& batch, const Tables& tables, Done done);

 private:
  struct InFlight {
    uint64_t batch;
    std::vector<ServerIndex> checks;
    std::vector<std::string> records;  // server names
    std::string probe_path;            // read back after a lost connection
    std::string probe_data;
    TimePoint sent_at;
    size_t bytes = 0;
    Done done;
  };

  void OnResult(std::shared_ptr<InFlight> flight, const WriteResult& result);
  void ReadBack(std::shared_ptr<InFlight> flight);
  void Compare(std::shared_ptr<InFlight> flight, const absl::StatusOr<Node>& node);
  void Finish(const InFlight& flight, WriteOutcome outcome, ServerIndex conflict = {});

  const WriterOptions options_;
  absl::flat_hash_set<std::string> existing_;  // servers whose record is in the store
};

}  // namespace shardmanager::orchestrator
