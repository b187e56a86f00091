// A ShardBook, what is told to it and what it asks for, in words.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "server/shards/shard_book.h"

namespace shardmanager::server {

inline constexpr Incarnation kLife{3};
inline constexpr LeaderEpoch kLeader{7};

inline Grant GrantOf(const std::string& shard, uint64_t epoch, Role role = Role::kPrimary) {
  return {ShardId(shard), role, ShardEpoch(epoch)};
}

class ShardBookTest : public ::testing::Test {
 protected:
  ShardBookTest() { Feed(Registered{kLife}); }

  void Feed(ShardBook::Event event) { Keep(book_.OnEvent(now_, std::move(event))); }
  void AdvanceBy(Duration duration) {
    now_ += duration;
    Keep(book_.OnAdvance(now_));
  }

  ReplyId Send(Command command) {
    command.reply = ++last_reply_;
    Feed(std::move(command));
    return last_reply_;
  }
  ReplyId Send(CommandKind kind, std::vector<Grant> grants) {
    return Send({kind, 0, "kv", "kv-1", life_, kLeader, std::move(grants)});
  }
  ReplyId Add(const std::string& shard, uint64_t epoch) {
    return Send(CommandKind::kAdd, {GrantOf(shard, epoch)});
  }
  ReplyId Drop(const std::string& shard, uint64_t epoch) {
    return Send(CommandKind::kDrop, {GrantOf(shard, epoch)});
  }
  // To the new owner of a handover.
  ReplyId PrepareAdd(const std::string& shard, uint64_t epoch,
                     const std::string& old_owner = "kv-2") {
    return Send({CommandKind::kPrepareAdd,
                 0,
                 "kv",
                 "kv-1",
                 life_,
                 kLeader,
                 {GrantOf(shard, epoch)},
                 old_owner});
  }
  // To the old one: the grant of `epoch` ends, that of `next_epoch` at kv-2 follows.
  ReplyId PrepareDrop(const std::string& shard, uint64_t epoch, uint64_t next_epoch) {
    return Send({CommandKind::kPrepareDrop,
                 0,
                 "kv",
                 "kv-1",
                 life_,
                 kLeader,
                 {GrantOf(shard, epoch)},
                 "",
                 {{"kv-2", "host:1", ShardEpoch(next_epoch)}}});
  }
  // The application's method returns.
  void EndCall(CommandKind method, const std::string& shard, uint64_t epoch,
               absl::Status status = absl::OkStatus()) {
    Feed(HandlerDone{method, ShardId(shard), ShardEpoch(epoch), std::move(status)});
  }
  void Load(const std::string& shard, uint64_t epoch, absl::Status status = absl::OkStatus()) {
    EndCall(CommandKind::kAdd, shard, epoch, std::move(status));
  }
  void Prepare(const std::string& shard, uint64_t epoch, absl::Status status = absl::OkStatus()) {
    EndCall(CommandKind::kPrepareAdd, shard, epoch, std::move(status));
  }
  void PreparedToDrop(const std::string& shard, absl::Status status = absl::OkStatus()) {
    EndCall(CommandKind::kPrepareDrop, shard, 0, std::move(status));
  }
  void Drain(const std::string& shard) { Feed(Drained{ShardId(shard)}); }
  void EndDrop(const std::string& shard, absl::Status status = absl::OkStatus()) {
    EndCall(CommandKind::kDrop, shard, 0, std::move(status));
  }
  // A new life, after the session was lost, and what the stored record says to it.
  void Rejoin(Assigned assigned) {
    life_ = Incarnation(life_.value() + 1);
    Feed(Registered{life_});
    Feed(std::move(assigned));
  }
  // Added, loaded, admitting.
  void Serve(const std::string& shard, uint64_t epoch) {
    Add(shard, epoch);
    Load(shard, epoch);
  }

  // What the last event asked for, as words; replies aside.
  const std::vector<std::string>& asked() const { return asked_; }
  // What all events since the last call of Did() asked for, as words; replies aside.
  std::vector<std::string> Did() { return std::exchange(did_, {}); }
  // Was the last AddShard of a shard that had been prepared?
  bool prepared() const { return prepared_; }
  // Results of one reply since it was sent, as words; "end" closes it.
  const std::vector<std::string>& results(ReplyId reply) { return results_[reply]; }
  std::string refusal(ReplyId reply) { return refusals_[reply]; }

  std::vector<std::string> Held() const {
    std::vector<std::string> held;
    for (const ShardBook::Held& h : book_.held()) {
      held.push_back(h.grant.shard.value() + "@" + std::to_string(h.grant.epoch.value()) +
                     (h.serving ? " serving" : " loading"));
    }
    return held;
  }

  ShardBook book_{ShardBookOptions{"kv", "kv-1", Seconds(10)}};

 private:
  static std::string Word(const char* what, const Grant& grant) {
    return std::string(what) + " " + grant.shard.value() + "@" +
           std::to_string(grant.epoch.value());
  }
  static std::string Word(const char* what, const ShardId& shard) {
    return std::string(what) + " " + shard.value();
  }

  void Keep(Output<ShardBook::Action> output) {
    asked_.clear();
    for (const ShardBook::Action& action : output.actions) {
      std::visit([this](const auto& a) { Note(a); }, action);
    }
    did_.insert(did_.end(), asked_.begin(), asked_.end());
  }
  void Note(const HandlerCall& a) {
    switch (a.method) {
      case CommandKind::kAdd:
        prepared_ = a.prepared;
        return asked_.push_back(Word("add", a.grant));
      case CommandKind::kChangeRole:
        return asked_.push_back(Word("turn", a.grant) + " " + std::string(ToString(a.grant.role)));
      case CommandKind::kDrop:
        return asked_.push_back(Word("drop", a.grant.shard));
      case CommandKind::kPrepareDrop:
        return asked_.push_back(Word("prepare-drop", a.grant.shard));
      case CommandKind::kSetMembers:
      case CommandKind::kPrepareAdd:
        return asked_.push_back(Word(std::string(ToString(a.method)).c_str(), a.grant));
    }
  }
  void Note(const OpenShard& a) {
    asked_.push_back(Word("open", a.grant) +
                     (a.primary ? ", primary at " + a.primary->server : ""));
  }
  void Note(const PauseShard& a) { asked_.push_back(Word("pause", a.shard)); }
  void Note(const ShowLoading& a) { asked_.push_back(Word("loading", a.shard)); }
  void Note(const CloseShard& a) { asked_.push_back(Word("close", a.shard)); }
  void Note(const HoldShard& a) { asked_.push_back(Word("hold", a.shard)); }
  void Note(const AwaitForwarded& a) {
    asked_.push_back(Word("await", a.grant) + " from " + a.old_owner);
  }
  void Note(const OpenForwarded& a) {
    asked_.push_back(Word("open", a.grant) + " to " + a.old_owner);
  }
  void Note(const ForwardShard& a) {
    asked_.push_back(Word("forward", a.shard) + " to " + a.to.server + "@" +
                     std::to_string(a.to.epoch.value()));
  }
  void Note(const Warn&) { asked_.push_back("warn"); }
  void Note(const Emptied&) { asked_.push_back("emptied"); }
  void Note(const Refuse& a) { refusals_[a.reply] = a.status.ToString(); }
  void Note(const Reply& a) {
    for (const ShardResult& r : a.results) results_[a.reply].push_back(Text(r));
    if (a.last) results_[a.reply].push_back("end");
  }
  static std::string Text(const ShardResult& r) {
    constexpr const char* kStates[] = {"loading", "done", "failed", "stale", "called off"};
    return r.shard.value() + "@" + std::to_string(r.epoch.value()) + " " +
           kStates[static_cast<size_t>(r.state)];
  }

  TimePoint now_{Seconds(1'000)};
  Incarnation life_ = kLife;
  ReplyId last_reply_ = 0;
  std::vector<std::string> asked_;
  std::vector<std::string> did_;
  bool prepared_ = false;
  std::map<ReplyId, std::vector<std::string>> results_;
  std::map<ReplyId, std::string> refusals_;
};

inline const ShardId kShard("s");

// One shard in a handover, at either end.
class HandoverBookTest : public ShardBookTest {
 protected:
  // As the new owner.
  void AwaitForwardedRequests() {
    PrepareAdd("s", 5);
    Prepare("s", 5);
  }
  void ServeForwardedRequests() {
    AwaitForwardedRequests();
    Feed(Forwarded{kShard});
    Load("s", 5);
  }
  // As the old owner.
  ReplyId HoldRequests() {
    Serve("s", 5);
    const ReplyId reply = PrepareDrop("s", 5, 6);
    PreparedToDrop("s");
    return reply;
  }
  void ForwardRequests() {
    HoldRequests();
    Drain("s");
    EndDrop("s");
  }
};

}  // namespace shardmanager::server
