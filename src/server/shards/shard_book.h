// Which shards this server holds, loads and drops: the part of the server library's
// core that decides about shards.
//
// One entry per shard that was ever granted here; it remembers the highest epoch
// seen, also after the drop, so that nothing old is ever obeyed:
//
//             add                 loaded
//   absent ---------> loading ---------------> serving
//     ^   <---failed---- | dropped meanwhile     | drop, or a newer grant
//     |                  v                       v
//     +---- dropping <---+--------------- draining
//            handler.DropShard            requests in flight finish
//
// A newer grant of a shard that is draining or dropping waits until that has ended; of several,
// only the newest is carried out. If no drop was asked for meanwhile, the shard is added again,
// after the drain, without DropShard.
//
// A handover adds states. The new owner serves nobody, or only what the old owner forwards; the old
// owner serves as before while it is leaving, and forwards afterwards:
//
//   new:  absent --prepare-add--> preparing --> prepared --add, or a request that the old
//                                               owner forwards--> loading --> serving
//   old:  serving --prepare-drop--> leaving --> draining --> dropping --> forwarding
//                          handler.PrepareDropShard         until dropped, and a while on
//
// In the two moments in which nobody may serve (draining and dropping here, loading there),
// requests are held.
//
// A newer grant in the other role, of a shard that is loaded here, changes its role in place:
//
//   serving --> draining --> changing role --> serving   while it is not open, requests are held
//                          handler.ChangeRole
//
// A former primary that is dropped soon after goes on sending requests to the next one, too.
//
// A shard that was made of others, by a split or a merge, comes after them: when it is granted,
// those that are held here are let go, and it stays absent until they are.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/state_machine.h"
#include "server/shards/shard_events.h"
#include "server/shards/shard_state.h"
#include "server/shards/shard_steps.h"

namespace shardmanager::server {

// What the control plane wants, and what that means for what a shard is doing (ShardSteps).
class ShardBook {
 public:
  using Event = ShardEvent;
  using Action = ShardAction;

  explicit ShardBook(ShardBookOptions options) : book_(std::move(options)) {}
  ShardBook(const ShardBook&) = delete;  // its steps refer to its state
  ShardBook& operator=(const ShardBook&) = delete;

  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

  struct Held {
    Grant grant;
    bool serving = false;  // as this life was granted it
  };
  // May a request be admitted, is one in flight, or is PrepareDropShard, ChangeRole or DropShard at
  // work?
  bool in_use() const;
  // Those that are loading, serving or leaving, ascending by shard.
  std::vector<Held> held() const;

 private:
  void On(Command& event);
  void On(Registered& event) { book_.incarnation = event.incarnation; }
  void On(Assigned& event);
  void On(HandlerDone& event);
  void On(Forwarded& event) { steps_.On(event); }
  void On(Progress& event) { steps_.On(event); }
  void On(Drained& event) { steps_.On(event); }
  void On(Stop& event);

  absl::Status CheckHeader(const Command& command);
  void Obey(const Command& command, size_t index);

  void AcceptGrant(const WantedGrant& wanted, ReplyId reply);
  bool HoldsOrigins(const Grant& grant, ReplyId reply);
  void LetGoOrigins(const ShardOrigin& origin, ShardEpoch epoch);
  bool AlreadyServes(ShardEntry& entry, const WantedGrant& wanted);
  void Pursue(ShardEntry& entry, const WantedGrant& wanted, ReplyId reply, bool news);
  bool IsUnderWay(ShardEntry& entry, const WantedGrant& wanted);

  void LetGo(const ShardId& shard, ShardEpoch epoch, std::optional<Successor> successor,
             ReplyId reply);
  void AnswerCalledOff(ShardEntry& entry, ShardEpoch epoch, ReplyId reply);
  void AnswerRepeat(ShardEntry& entry, ShardResult done, ReplyId reply);
  bool AlreadyGone(ShardEntry& entry, const std::optional<Successor>& successor);
  void BeginToLetGo(ShardEntry& entry);

  void SetMembers(const Grant& grant, ReplyId reply);
  void BeginMemberChanges();
  void MembersUpdated(const HandlerDone& event);

  void CheckEmptied();
  Output<Action> Finish();

  BookState book_;
  ShardSteps steps_{book_};
  LeaderEpoch leader_epoch_;
  bool emptied_ = false;
};

}  // namespace shardmanager::server
