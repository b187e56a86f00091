// A server's place in the cell: answers of the store in any order, late, lost or of former
// questions. The lease never runs past what a renewal allows, nor past the session, and
// nobody becomes a member who did not register.
#include "server/membership.h"

#include <optional>
#include <utility>
#include <vector>

#include "tests/fuzz/core_check.h"

namespace shardmanager::server {
namespace {

constexpr Duration kTimeout = Seconds(10);
constexpr Duration kTick = Milliseconds(200);

class Trial {
 public:
  explicit Trial(fuzz::FuzzInput& input) : input_(input) {}

  void Step() {
    switch (input_.Below(12)) {
      case 0:
        return ChangeSession();
      case 1:
      case 2:
        return Advance(Milliseconds(20 * input_.Byte()));
      case 3:
        if (input_.Below(8) == 0) Feed(Leave{input_.Flag()});
        return;
      default:
        return AnswerSomething();
    }
  }

  // Everything is answered well from here on.
  void Settle() {
    if (!session_) BeginSession();
    for (int round = 0; round < 100; ++round) {
      while (!questions_.empty() && !over_) Answer(0, Answer::kOk, false);
      if (!session_) BeginSession();
      Advance(Milliseconds(200));
    }
    SM_CHECK(over_ || lease_ > now_, "in peace it is a member with a lease, or gone");
  }

 private:
  // What the core asked, by which an answer is made up.
  struct Question {
    enum Kind { kCell, kApp, kStanding, kRegister, kAssignment, kLease, kGoodBye } kind;
    uint64_t ticket;
    TimePoint sent_at;
    Incarnation incarnation;
    bool with_write = false;
  };

  void BeginSession() {
    session_ = true;
    newest_write_ = now_;
    Feed(SessionUp{kTimeout, now_});
  }

  void ChangeSession() {
    if (!session_) return BeginSession();
    session_ = false;
    if (input_.Below(4) == 0) return;  // suspended only
    registered_.reset();
    Feed(SessionExpired{});
    SM_CHECK(over_ || lease_ <= now_, "with the session the lease is over");
  }

  void AnswerSomething() {
    if (questions_.empty()) return;
    const auto answer = static_cast<server::Answer>(input_.Below(4));
    Answer(input_.Byte() % questions_.size(), input_.Flag() ? Answer::kOk : answer, input_.Flag());
  }

  void Answer(size_t i, server::Answer answer, bool keep) {
    const Question q = questions_[i];
    if (!keep) questions_.erase(questions_.begin() + static_cast<std::ptrdiff_t>(i));
    switch (q.kind) {
      case Question::kCell:
        return Feed(
            CellAnswer{q.ticket, answer, absl::UnimplementedError("newer"), {kTimeout, kTick}});
      case Question::kApp:
        return Feed(AppAnswer{q.ticket, answer, static_cast<OnPartition>(input_.Below(3))});
      case Question::kStanding:
        return Feed(StandingAnswer{q.ticket, answer, NextStanding()});
      case Question::kRegister:
        if (answer == Answer::kOk) registered_ = q.incarnation;
        return Feed(RegisterAnswer{q.ticket, answer});
      case Question::kAssignment:
        return Feed(AssignmentAnswer{q.ticket, answer, absl::OkStatus()});
      case Question::kLease:
        if (answer == Answer::kOk) newest_renewal_ = std::max(newest_renewal_, q.sent_at);
        return AnswerLease(q, answer);
      case Question::kGoodBye:
        return Feed(LeaveAnswer{q.ticket});
    }
  }

  void AnswerLease(const Question& q, server::Answer answer) {
    const bool written = q.with_write && answer == Answer::kOk;
    if (written) newest_write_ = std::max(newest_write_, q.sent_at);
    Feed(LeaseAnswer{q.ticket, answer, q.sent_at, written});
  }

  Standing NextStanding() {
    Standing standing{.known = input_.Flag(), .version = static_cast<int32_t>(input_.Below(4))};
    if (input_.Below(4) != 1) return standing;
    standing.live = true;
    standing.ours = registered_.has_value() && input_.Flag();
    standing.incarnation = standing.ours ? *registered_ : Incarnation(1 + input_.Below(4));
    return standing;
  }

  void Advance(Duration time) {
    now_ += time;
    fuzz::AdvanceCore(membership_, now_, [this](auto actions) { Carry(std::move(actions)); });
  }
  void Feed(Membership::Event event) {
    if (!over_) Carry(membership_.OnEvent(now_, std::move(event)).actions);
  }
  void Carry(std::vector<Membership::Action> actions) {
    for (Membership::Action& action : actions) std::visit([this](auto& a) { Do(a); }, action);
  }
  void Ask(Question::Kind kind, uint64_t ticket, Incarnation incarnation = {}) {
    SM_CHECK(questions_.size() < 1'000, "it does not ask without end");
    questions_.push_back({kind, ticket, now_, incarnation});
  }

  void Do(ReadCell& a) { Ask(Question::kCell, a.ticket); }
  void Do(ReadApp& a) { Ask(Question::kApp, a.ticket); }
  void Do(ReadStanding& a) { Ask(Question::kStanding, a.ticket); }
  void Do(Register& a) { Ask(Question::kRegister, a.ticket, a.incarnation); }
  void Do(ReadAssignment& a) { Ask(Question::kAssignment, a.ticket, a.incarnation); }
  void Do(RenewLease& a) {
    Ask(Question::kLease, a.ticket, a.incarnation);
    questions_.back().with_write = a.with_write;
  }
  void Do(SayGoodBye& a) { Ask(Question::kGoodBye, a.ticket, a.incarnation); }
  void Do(SetLease& a) {
    lease_ = a.until;
    const TimePoint most = std::min(LeaseUntil(newest_renewal_, kTimeout, kTick),
                                    LeaseUntilByWrite(newest_write_, kTimeout));
    SM_CHECK(lease_ <= std::max(most, now_), "no longer than a renewal that was answered allows");
  }
  void Do(AwaitLease&) {}
  void Do(SetPolicy&) {}
  void Do(BecameMember& a) {
    SM_CHECK(registered_ == a.incarnation, "a member has registered that life in this session");
  }
  void Do(NewSession&) {
    questions_.clear();
    registered_.reset();
    session_ = false;
  }
  void Do(GiveUp&) { over_ = true; }
  void Do(Waiting&) {}
  void Do(Gone&) { over_ = true; }

  fuzz::FuzzInput& input_;
  Membership membership_{"kv"};
  TimePoint now_{};
  std::vector<Question> questions_;
  std::optional<Incarnation> registered_;
  TimePoint lease_ = TimePoint::min();
  TimePoint newest_renewal_ = TimePoint::min() + Seconds(100);
  TimePoint newest_write_{};  // the making of a session is one
  bool session_ = false;
  bool over_ = false;
};

}  // namespace

SM_FUZZ_TARGET(membership) {
  Trial trial(input);
  while (!input.empty()) trial.Step();
  trial.Settle();
}

}  // namespace shardmanager::server
