// The stored spec of an app: read, and read again whenever it changes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordination/store.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/state/partition_io.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// On the driver's thread.
class SpecWatch {
 public:
  struct Callbacks {
    std::function<void()> adopted;  // stored() is new
    std::function<void()> deleted;
    // The store does not answer: call Read() again.
    std::function<void(const absl::Status& why)> unreachable;
    // What is stored cannot be read, and was given to DamagedRecords. stored() is what it was.
    std::function<void(const absl::Status& why)> damaged;
  };

  SpecWatch(WriterOptions options, Callbacks callbacks)
      : options_(std::move(options)), callbacks_(std::move(callbacks)) {}

  void Read();
  // What was just written as the next version: need not be read back.
  void Take(v1::StoredSpec stored, int32_t version);

  // False: nothing tells of changes until Read() is called.
  bool watched() const { return watched_; }
  // stored() is what was read, or taken, once.
  bool has_spec() const { return version_ >= 0; }
  const v1::StoredSpec& stored() const { return stored_; }
  // What is ordered beside the spec. `now` and `now_ms` are the same moment.
  OperatorOrders ordered(TimePoint now, int64_t now_ms) const;
  int32_t version() const { return version_; }  // of the record; -1: none was read

 private:
  void OnRead(const absl::StatusOr<Node>& node);
  void Adopt(v1::StoredSpec stored, int32_t version);
  std::string path() const { return options_.paths.spec(options_.app); }

  const WriterOptions options_;
  const Callbacks callbacks_;
  v1::StoredSpec stored_;
  int32_t version_ = -1;
  bool watched_ = false;
};

}  // namespace shardmanager::orchestrator
