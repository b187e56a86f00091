// Raises the leader epochs of a cell past all that anybody saw: after its store was restored from
// a backup, epochs that were issued after the backup would be issued once more, and whoever
// remembers the first ones refuses the second ones as old. The cell counts as made anew, too
// (CellConfig.made_ms): if another one of its name was made in the emptied store meanwhile, maps
// of this one must be newer than maps of that one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coordination/store.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager {

struct RaisedEpochs {
  uint32_t from = 0;  // the newest leader epoch before
  uint32_t to = 0;
  int64_t made_ms = 0;  // when the cell counts as made from now on
  // Who leads, or did until now, and would be waited for; only of a dry run.
  std::optional<v1::LeaderRecord> waits_for = std::nullopt;
};

struct RaiseEpochsOptions {
  std::string cell;
  // Each change of leader takes one epoch. 1 to 10,000,000.
  uint32_t by = 10'000;
  // The time of day. The cell counts as made then, or a moment after it was made before, if that is
  // later.
  int64_t now_ms = 0;
  // Changes nothing and waits for nobody: the answer is what would come of it now.
  bool dry_run = false;
  // As the holder of the cell's leadership meanwhile: nobody leads while epochs are raised.
  v1::LeaderRecord self;
  // Somebody else holds it: waits for it to go. May be empty.
  std::function<void(const v1::LeaderRecord& holder)> on_wait;
};

// `done` comes on the session's thread, after any wait for the connection and for the leader to
// go. Leadership ends with the session: close it. Whatever is repeated, or breaks in the middle,
// leaves epochs raised, never lower. Errors: NOT_FOUND, there is no such cell; ABORTED, the
// session has expired: begin again with a new one; and as LoadCell() has them.
void RaiseEpochs(CoordinationStore& store, RaiseEpochsOptions options,
                 std::function<void(absl::StatusOr<RaisedEpochs>)> done);

}  // namespace shardmanager
