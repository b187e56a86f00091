// Which primaries are told of new members now (UpdateMembership), and which wait for their turn.
//
// A call may wait for a member that does not answer. So only a few run at a time, and what has to
// wait waits here, where it holds up nothing: its shard can be demoted or dropped meanwhile. A list
// that brings nobody new does not depend on anybody who may be silent, and writes may wait for it
// (a dead member goes): such lists have a lane of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "server/grant.h"

namespace shardmanager::server {

class MemberChanges {
 public:
  struct Change {
    Grant grant;  // with members
    ReplyId reply = 0;
  };
  struct Begun {
    Grant grant;
    bool brings = false;  // somebody new
  };

  // `at_once`: most calls that run at a time, in each of the two lanes.
  explicit MemberChanges(size_t at_once) : at_once_(at_once) {}

  // Takes the place of the shard's change that waits, which is returned.
  std::optional<Change> Want(Change change);
  // The shard's change that waits never begins. One that is at work goes on.
  std::optional<Change> CallOff(const ShardId& shard);
  // One that may run now: of a lane, that which has waited longest. Call it until there is none.
  std::optional<Begun> BeginNext();
  // The call has returned. Nothing: none of the shard was at work.
  std::optional<Change> End(const ShardId& shard, bool well);
  bool AtWork(const ShardId& shard) const;

 private:
  enum Lane : size_t { kRemoves, kBrings };
  struct LaneState {
    std::map<uint64_t, ShardId> waiting;  // by ticket
    size_t at_work = 0;
  };
  struct Work {
    std::optional<Change> at_work;
    Lane lane = kBrings;          // of the one at work, else of the one that waits
    std::optional<Change> waits;  // for its turn, or for the end of the one at work
    std::optional<Grant> agreed;  // the last list to which the application said yes
    uint64_t ticket = 0;          // of the one that waits for its turn; 0: none does
  };

  static Lane LaneOf(const Work& work);
  void Queue(Work& work);
  void Unqueue(Work& work);

  const size_t at_once_;
  uint64_t last_ticket_ = 0;
  std::map<ShardId, Work> works_;
  std::array<LaneState, 2> lanes_;
};

}  // namespace shardmanager::server
