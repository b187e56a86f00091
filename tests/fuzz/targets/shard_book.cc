// The server library's shards: commands, loads, drains and drops in any order. The
// application is called for one thing at a time, only what has a grant is open, every
// command is answered, and a server that stops ends up empty.
#include "server/shards/shard_book.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/core_check.h"

namespace shardmanager::server {
namespace {

// By the version of the list: some bring somebody new, some do not.
const Members kKv2{{ServerName("kv-2"), "there"}};
const Members kKv3{{ServerName("kv-3"), "there"}};
const std::array<Members, 4> kMembers = {kKv2, {kKv2.front(), kKv3.front()}, kKv3, {}};

struct AtWork {  // of one shard, outside the core
  std::optional<Grant> preparing;
  std::optional<Grant> adding;
  std::optional<Grant> loaded;  // the last load, or change of role, that went well
  std::optional<Grant> turning;
  std::optional<Grant> setting;  // members, while it is open; a drain waits for it
  bool adds_member = false;      // to the list
  bool dropping = false;
  bool leaving = false;
  bool open = false;
  bool awaits = false;  // a request may come that the old owner forwards
  bool busy() const { return preparing || adding || turning || setting || dropping || leaving; }
  bool closing = false;  // requests are in flight still
  ShardEpoch highest_open;
};

class Trial {
 public:
  explicit Trial(fuzz::FuzzInput& input) : input_(input) { Feed(Registered{Incarnation(1)}); }

  void Step() {
    const ShardId shard = NextShard();
    switch (input_.Below(10)) {
      case 0:
      case 1:
      case 2:
        return Send();
      case 3:
        return Finish(shard, input_.Below(4) != 0);
      case 4:
        return Drain(shard);
      case 5:
        if (const auto& adding = work_[shard].adding) {
          Feed(Progress{shard, adding->epoch, input_.Byte() / 255.0});
        }
        return;
      case 6:
        return Advance(Milliseconds(50 * input_.Byte()));
      case 7:
        if (input_.Below(8) != 0) return Feed(Assigned{NextGrants(), NextGrants()});
        return Feed(Registered{Incarnation(++life_)});
      case 8:
        return Forward(shard);
      default:
        if (input_.Below(16) == 0) Feed(Stop{});
    }
  }

  // Peace: whatever is at work ends well. Everything must be answered.
  void Settle() {
    for (int round = 0; round < 40; ++round) {
      for (auto& [shard, work] : Copy()) {
        Finish(shard, true);
        Drain(shard);
      }
      Advance(Seconds(1));
    }
    SM_CHECK(waiting_.empty(), "every command is answered in the end");
  }

  void StopAndSettle() {
    Feed(Stop{});
    Settle();
    SM_CHECK(emptied_ == 1, "a server that stops says once that it is empty");
    SM_CHECK(book_.held().empty() && !book_.in_use(), "and it is");
    for (const auto& [shard, work] : work_) SM_CHECK(!work.open, "nothing is open");
  }

 private:
  std::map<ShardId, AtWork> Copy() const { return work_; }
  ShardId NextShard() { return ShardId(std::string(1, static_cast<char>('a' + input_.Below(4)))); }
  std::vector<Grant> NextGrants() {
    std::vector<Grant> grants(input_.Below(4));
    for (Grant& grant : grants) {
      grant = {.shard = NextShard(),
               .role = input_.Flag() ? Role::kPrimary : Role::kSecondary,
               .epoch = ShardEpoch(1 + input_.Below(12)),
               .members_version = input_.Below(4)};
      grant.members = kMembers[grant.members_version];
    }
    return grants;
  }

  void Send() {
    Command command{.kind = static_cast<CommandKind>(input_.Below(6)),
                    .reply = ++last_reply_,
                    .app = input_.Below(16) == 0 ? "other" : "kv",
                    .server = input_.Below(16) == 0 ? "kv-2" : "kv-1",
                    .incarnation = Incarnation(input_.Below(8) == 0 ? input_.Byte() : life_),
                    .leader_epoch = LeaderEpoch(1 + input_.Below(3)),
                    .grants = NextGrants(),
                    .old_owner = "kv-8"};
    for (const Grant& grant : command.grants) {
      command.successors.push_back({"kv-9", "there", ShardEpoch(grant.epoch.value() + 1)});
    }
    waiting_.insert(command.reply);
    Feed(std::move(command));
  }

  // The application's AddShard or DropShard returns.
  void Finish(const ShardId& shard, bool well) {
    AtWork& work = work_[shard];
    const absl::Status status = well ? absl::OkStatus() : absl::UnavailableError("disk full");
    if (work.preparing) {
      const Grant grant = *std::exchange(work.preparing, std::nullopt);
      Feed(HandlerDone{CommandKind::kPrepareAdd, shard, grant.epoch, status});
    } else if (std::exchange(work.leaving, false)) {
      Feed(HandlerDone{CommandKind::kPrepareDrop, shard, {}, status});
    } else if (work.turning) {
      const Grant grant = *std::exchange(work.turning, std::nullopt);
      if (well) work.loaded = grant;
      Feed(HandlerDone{CommandKind::kChangeRole, shard, grant.epoch, status});
    } else if (work.setting) {
      const Grant grant = *std::exchange(work.setting, std::nullopt);
      Feed(HandlerDone{CommandKind::kSetMembers, shard, grant.epoch, status});
    } else if (work.adding) {
      const Grant grant = *std::exchange(work.adding, std::nullopt);
      work.loaded = well ? std::optional<Grant>(grant) : std::nullopt;
      Feed(HandlerDone{CommandKind::kAdd, shard, grant.epoch, status});
    } else if (std::exchange(work.dropping, false)) {
      Feed(HandlerDone{CommandKind::kDrop, shard, {}, status});
    }
  }
  void Forward(const ShardId& shard) {
    if (work_[shard].awaits) Feed(Forwarded{shard});
  }
  void Drain(const ShardId& shard) {
    AtWork& work = work_[shard];
    if (!work.closing || work.setting) return;
    work.closing = input_.Below(8) == 0;  // may be reported again
    Feed(Drained{shard});
  }
  void Advance(Duration time) {
    now_ += time;
    fuzz::AdvanceCore(book_, now_, [this](auto actions) { Carry(std::move(actions)); });
  }

  void Feed(ShardBook::Event event) { Carry(book_.OnEvent(now_, std::move(event)).actions); }
  void Carry(std::vector<ShardBook::Action> actions) {
    for (ShardBook::Action& action : actions) std::visit([this](auto& a) { Do(a); }, action);
  }

  void Do(HandlerCall& action) {
    AtWork& work = work_[action.grant.shard];
    SM_CHECK(!work.busy(), "one call of the application at a time");
    switch (action.method) {
      case CommandKind::kPrepareAdd:
        SM_CHECK(!work.open && !work.loaded, "what is prepared is not there");
        work.preparing = action.grant;
        return;
      case CommandKind::kPrepareDrop:
        SM_CHECK(work.loaded.has_value(), "only what is there leaves");
        work.leaving = true;
        return;
      case CommandKind::kAdd:
        SM_CHECK(!work.open, "what is loaded anew is closed");
        work.adding = action.grant;
        return;
      case CommandKind::kChangeRole:
        SM_CHECK(!work.open && work.loaded, "what changes its role is there, and closed");
        SM_CHECK(work.loaded->role != action.grant.role, "and had the other role");
        work.turning = action.grant;
        return;
      case CommandKind::kSetMembers:
        return SetMembers(action, work);
      case CommandKind::kDrop:
        SM_CHECK(!work.open, "what is dropped is closed first");
        work.dropping = true;
        work.loaded.reset();
        return;
    }
  }
  void SetMembers(const HandlerCall& action, AtWork& work) {
    SM_CHECK(work.open && work.loaded->role == Role::kPrimary, "a primary that serves has members");
    const auto sets = [&](const auto& other) {
      return other.second.setting && other.second.adds_member == action.adds_member;
    };
    SM_CHECK(std::none_of(work_.begin(), work_.end(), sets),
             "so many changes of members at a time");
    work.adds_member = action.adds_member;
    work.setting = action.grant;
  }
  void Do(OpenForwarded& action) { CheckOpen(action.grant); }
  void Do(OpenShard& action) {
    CheckOpen(action.grant);
    work_[action.grant.shard].open = true;
  }
  void CheckOpen(const Grant& grant) {
    AtWork& work = work_[grant.shard];
    SM_CHECK(work.loaded.has_value(), "only what is loaded opens");
    SM_CHECK(work.highest_open <= grant.epoch, "epochs go forward");
    SM_CHECK(!work.dropping, "what is being dropped stays closed");
    work.closing = false;
    work.highest_open = grant.epoch;
  }
  void Do(ShowLoading& action) { SM_CHECK(!work_[action.shard].open, "not open yet"); }
  void Do(AwaitForwarded& action) {
    AtWork& work = work_[action.grant.shard];
    SM_CHECK(!work.open && !work.busy(), "nothing is served yet");
    work.awaits = true;
  }
  void Do(CloseShard& action) { Close(action.shard); }
  void Do(PauseShard& action) { Close(action.shard); }
  void Do(HoldShard& action) { Close(action.shard); }
  void Close(const ShardId& shard) {
    work_[shard].open = false;
    work_[shard].awaits = false;
    work_[shard].closing = true;
  }
  void Do(ForwardShard& action) {
    AtWork& work = work_[action.shard];
    SM_CHECK(!work.open && !work.busy(), "what is forwarded is not served here");
    SM_CHECK(!work.loaded, "and was dropped");
  }
  void Do(Reply& action) {
    SM_CHECK(waiting_.contains(action.reply), "who waits is answered, and nobody else");
    if (action.last) waiting_.erase(action.reply);
  }
  void Do(Refuse& action) {
    SM_CHECK(!action.status.ok(), "a refusal says why");
    SM_CHECK(waiting_.erase(action.reply) == 1, "a refusal is the whole answer");
  }
  void Do(Warn&) {}
  void Do(Emptied&) { ++emptied_; }

  fuzz::FuzzInput& input_;
  ShardBook book_{ShardBookOptions{.app = "kv", .server = "kv-1", .member_changes_at_once = 1}};
  TimePoint now_{};
  std::map<ShardId, AtWork> work_;
  std::set<ReplyId> waiting_;
  ReplyId last_reply_ = 0;
  uint64_t life_ = 1;
  int emptied_ = 0;
};

}  // namespace

SM_FUZZ_TARGET(shard_book) {
  Trial trial(input);
  while (!input.empty()) trial.Step();
  trial.Settle();
  trial.StopAndSettle();
}

}  // namespace shardmanager::server
