// Writes of application specs: fenced by the leader epoch, and read back when an answer was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordination/paths.h"
#include "coordination/store.h"
#include "orchestrator/shell/change_outcome.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// All calls answer on the session's thread, with the version under which the spec is durable.
// Errors:
//   ABORTED              somebody else changed the spec meanwhile, or leads now
//   RESOURCE_EXHAUSTED   the spec is larger than a record may be
//   CANCELLED            nobody wants it any more; nothing was changed
//   UNAVAILABLE          the connection broke; the message says whether the change may have
//                        happened
class SpecStore {
 public:
  using Done = std::function<void(absl::StatusOr<int32_t> version)>;

  SpecStore(CoordinationStore* store, Paths paths, uint32_t buckets, LeaderEpoch leader_epoch)
      : store_(store), paths_(std::move(paths)), buckets_(buckets), leader_epoch_(leader_epoch) {}

  // RESOURCE_EXHAUSTED: Create(), or else Replace(), would say so.
  absl::Status CheckSize(const AppName& app, const v1::StoredSpec& spec, bool is_new) const;
  // A new app: its folders (unless an earlier app of that name left them) and spec. Nothing is
  // written that is not wanted any more; a write that was lost with the connection is repeated as
  // long as it is wanted.
  void Create(const AppName& app, const v1::StoredSpec& spec, Done done, Wanted wanted = {}) const;
  // REQUIRES: `version` is the one that the caller read, and the change is wanted.
  void Replace(const AppName& app, const v1::StoredSpec& spec, int32_t version, Done done,
               Wanted wanted = {}) const;

 private:
  struct Change {
    AppName app;
    std::vector<WriteOp> ops;  // behind the fence
    std::string data;          // of the spec
    int32_t version = 0;       // that it gets
    Done done;
    Wanted wanted;
  };
  void Write(const Change& change) const;
  std::vector<WriteOp> Folders(const AppName& app) const;

  CoordinationStore* store_;
  Paths paths_;
  uint32_t buckets_;
  LeaderEpoch leader_epoch_;
};

}  // namespace shardmanager::orchestrator
