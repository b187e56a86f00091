// Which calls of UpdateMembership run now, and which are queued.
//
// A call may wait for a member that does not answer. So only a few run at a time, and the others
// are queued here, where they hold up nothing: a shard can be demoted or dropped meanwhile. A list
// that adds no member cannot wait for a silent one, and writes may wait for the list (it removes a
// dead member): such lists have a queue of their own.
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
    bool adds_member = false;
  };

  // `at_once`: most calls that run at a time, in each of the two queues.
  explicit MemberChanges(size_t at_once) : at_once_(at_once) {}

  // Replaces the change of the shard that waits, if one does, and returns that.
  std::optional<Change> Want(Change change);
  // The shard's change that waits never begins. One that is at work goes on.
  std::optional<Change> CallOff(const ShardId& shard);
  // The next one that may run now: the first of a queue. Call it until there is none.
  std::optional<Begun> BeginNext();
  // The call has returned. Nothing: none of the shard was at work.
  std::optional<Change> End(const ShardId& shard, bool well);
  bool AtWork(const ShardId& shard) const;

 private:
  enum Kind : size_t { kRemovesOnly, kAdds };
  struct Queue {
    std::map<uint64_t, ShardId> waiting;  // by ticket
    size_t at_work = 0;
  };
  struct Work {
    std::optional<Change> at_work;
    Kind kind = kAdds;            // of the one at work, else of the one that waits
    std::optional<Change> waits;  // in a queue, or for the end of the one at work
    std::optional<Grant> agreed;  // the last list that the application accepted
    uint64_t ticket = 0;          // its place in the queue; 0: it is in none
  };

  static Kind KindOf(const Work& work);
  void Enqueue(Work& work);
  void Dequeue(Work& work);

  const size_t at_once_;
  uint64_t last_ticket_ = 0;
  std::map<ShardId, Work> works_;
  std::array<Queue, 2> queues_;
};

}  // namespace shardmanager::server
