// This process's place in the cell: the part of the server library's core that
// decides about session, registration and lease.
//
//   connect -> cell -> app -> registration -> other lives? -> register -> assignment
//                               ^                  | yes: wait             |
//                               +------------------+                    member
//                               ^                                          |
//                               +-------- session expired, evicted <-------+
//
// Each step is asked of the store; an answer moves on, anything else asks again a
// little later, from the registration on. Level-triggered: where it stands follows
// from what was read, so a lost answer is found out by reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "base/lease.h"
#include "base/state_machine.h"
#include "model/session_terms.h"
#include "server/on_partition.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

// What the store knows of this server's name.
struct Standing {
  bool known = false;   // a registration node exists
  int32_t version = 0;  // of it
  bool live = false;    // a live node exists; the newest one is:
  bool ours = false;    // made by this very session
  Incarnation incarnation;
  std::string who;  // "endpoint (host/pid)" of the life that stands
};

// Why an answer did not come. kNotYet: what was looked for is not there (yet).
enum class Answer : uint8_t { kOk, kNotYet, kUnknown, kRefused };

// ---- events ---- (`ticket` repeats the one of the action that asked)
struct SessionUp {
  Duration timeout;      // as negotiated
  TimePoint asked_at{};  // when the session was asked for: it cannot be older
};
struct SessionExpired {};
// The session was ended by us: the cell asks for another time-out.
struct SessionReplaced {};
struct CellAnswer {
  uint64_t ticket = 0;
  Answer answer = Answer::kOk;
  absl::Status why;  // with kRefused: cannot ever join
  SessionTerms terms{};
};
struct AppAnswer {
  uint64_t ticket = 0;
  Answer answer = Answer::kOk;
  OnPartition on_partition = OnPartition::kStopPrimaries;
  absl::Status why;  // of the spec, when it was read and makes no sense, or may not be read
};
struct StandingAnswer {
  uint64_t ticket = 0;
  Answer answer = Answer::kOk;
  Standing standing;
  absl::Status why = {};  // of the registration, likewise
};
struct RegisterAnswer {
  uint64_t ticket = 0;
  Answer answer = Answer::kOk;
  absl::Status why = {};  // when it is not allowed
};
struct AssignmentAnswer {
  uint64_t ticket = 0;
  Answer answer = Answer::kOk;
  absl::Status why;  // of the record, when it was read and makes no sense
};
struct LeaseAnswer {
  uint64_t ticket = 0;
  Answer answer = Answer::kOk;  // kNotYet: the live node is gone
  TimePoint sent_at{};          // when all of the renewal was sent
  bool written = false;         // the write in it was made
};
// The process stops. Without `good_bye` (something still works with a shard) the
// registration is left alone and the lease lapses first.
struct Leave {
  bool good_bye = true;
};
struct LeaveAnswer {
  uint64_t ticket = 0;
};

// ---- actions ----
struct ReadCell {
  uint64_t ticket = 0;
};
struct ReadApp {
  uint64_t ticket = 0;
};
struct ReadStanding {
  uint64_t ticket = 0;
};
// One multi: bump the registration from `version` (make it, when not `known`) and
// make the live node of `incarnation`.
struct Register {
  uint64_t ticket = 0;
  bool known = false;
  int32_t version = 0;
  Incarnation incarnation;
};
struct ReadAssignment {
  uint64_t ticket = 0;
  Incarnation incarnation;
};
// Write if asked (a check of the live node, which changes nothing), sync, then read the live
// node, pipelined; note the time before sending.
struct RenewLease {
  uint64_t ticket = 0;
  Incarnation incarnation;
  bool with_write = false;
};
// Primary work may be admitted until then.
struct SetLease {
  TimePoint until{};
};
// It is registered: a lease is about to come, once its assignment is read, and requests may wait
// for it.
struct AwaitLease {};
struct SetPolicy {
  OnPartition on_partition = OnPartition::kStopPrimaries;
};
struct BecameMember {
  Incarnation incarnation;
};
struct NewSession {};
// One multi: mark the registration as departed and delete the live node.
struct SayGoodBye {
  uint64_t ticket = 0;
  Incarnation incarnation;
};
// Cannot join, ever.
struct GiveUp {
  absl::Status why;
};
// For the log: why nothing goes on. Empty: it goes on again.
struct Waiting {
  std::string why;
};
struct Gone {};  // after Leave

class Membership {
 public:
  using Event = std::variant<SessionUp, SessionExpired, SessionReplaced, CellAnswer, AppAnswer,
                             StandingAnswer, RegisterAnswer, AssignmentAnswer, LeaseAnswer, Leave,
                             LeaveAnswer>;
  using Action = std::variant<ReadCell, ReadApp, ReadStanding, Register, ReadAssignment, RenewLease,
                              SetLease, AwaitLease, SetPolicy, BecameMember, NewSession, SayGoodBye,
                              GiveUp, Waiting, Gone>;

  explicit Membership(std::string app) : app_(std::move(app)) {}

  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

 private:
  enum class Step : uint8_t {
    kOffline,
    kCell,
    kApp,
    kStanding,
    kRegistering,
    kAssignment,
    kMember,
    kLeaving,
    kGone,
  };

  void On(SessionUp& event);
  void On(SessionExpired& event);
  void On(SessionReplaced& event);
  void On(CellAnswer& event);
  void On(AppAnswer& event);
  void On(StandingAnswer& event);
  void On(RegisterAnswer& event);
  void On(AssignmentAnswer& event);
  void On(LeaseAnswer& event);
  void On(Leave& event);
  void On(LeaveAnswer& event);

  bool SessionIsSound();
  void Enter(Step step);
  void Retry();
  void Renew();
  bool NeedsWrite() const;
  void Member(Incarnation incarnation);
  void EndLease();
  void Adopt(OnPartition policy);
  bool KeepsServing() const { return policy_ == OnPartition::kKeepServing; }
  bool Current(uint64_t ticket, Step step) const { return ticket == ticket_ && step == step_; }
  void Say(std::string why);
  Output<Action> Finish();

  const std::string app_;
  TimePoint now_{};
  Output<Action> out_;
  Step step_ = Step::kOffline;
  uint64_t ticket_ = 0;
  uint64_t lease_ticket_ = 0;
  LeaseBegin lease_begin_;
  // When the newest write was sent that was answered; making the session is one.
  TimePoint written_{};
  bool lease_asked_ = false;
  bool cell_known_ = false;
  bool was_member_ = false;
  Duration timeout_{};
  SessionTerms terms_;  // once the cell is known
  OnPartition policy_ = OnPartition::kStopPrimaries;
  Standing standing_;
  Incarnation incarnation_;
  std::optional<TimePoint> retry_at_;
  std::optional<TimePoint> renew_at_;
  std::optional<TimePoint> lapse_at_;  // of the lease that was given
  std::optional<TimePoint> leave_by_;
  TimePoint blocked_since_{};  // by the life `blocker_`
  Incarnation blocker_;
  std::string said_;
};

}  // namespace shardmanager::server
