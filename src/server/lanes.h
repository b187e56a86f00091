// Which of the application's methods wait for which. Each kind of call has threads of its own: a
// load may take minutes, and a shard that is handed over or changes its role at that time, while
// its requests are held, must not wait behind it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardmanager::server {

enum class Lane : uint8_t {
  kAdd,       // may load for minutes
  kTakeOver,  // AddShard after PrepareAddShard: the old owner's requests wait for it
  kDrop,
  kPrepareAdd,  // may copy for minutes
  kPrepareDrop,
  kChangeRole,
  kSetMembers,     // brings somebody new: may wait for a member that does not answer
  kRemoveMembers,  // brings nobody new: writes may wait for it
  kCollectLoad,
};
inline constexpr size_t kLanes = 9;

constexpr Lane LaneOfAdd(bool prepared) { return prepared ? Lane::kTakeOver : Lane::kAdd; }
constexpr Lane LaneOfMembers(bool brings) {
  return brings ? Lane::kSetMembers : Lane::kRemoveMembers;
}

}  // namespace shardmanager::server
