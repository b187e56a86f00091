// The task controller's core: the state machine that decides, for one app, which container
// operations may go ahead now. It hears what cluster managers report and sees what servers hold,
// and says what to store, what to answer, and what the servers are to do for it.
//
// How it works, in one pass (after every event):
//   1. if something is to be decided, and nothing is being written: ask for a look at the fleet
//   2. on FleetSeen: decide (decide/decision.h), all managers' operations together
//   3. if what is held changes: order what the servers need (closed, drained), store it, and answer
//      reports when that is durable; else answer at once
//
// Rules that everything here keeps:
//   * Nothing is told to a manager before it is durable: a successor knows of each approval.
//   * A server is closed before its operation is approved, and stays closed until it is over.
//   * An operation begins (GO) only by a decision that looked at the fleet after its manager had
//   said
//     that it would act: a failure between approval and beginning withdraws the approval.
//   * Reports are level-triggered: the newest one of each manager is all that counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/state_machine.h"
#include "taskcontroller/decide/decision.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"
#include "taskcontroller/state/report_book.h"
#include "taskcontroller/state/rollout_book.h"
#include "taskcontroller/state/task_io.h"

namespace shardmanager::taskcontroller {

// Not thread-safe. See base/state_machine.h for the contract.
class TaskController {
 public:
  using Event = taskcontroller::Event;
  using Action = taskcontroller::Action;

  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

  // What is stored, as far as this leader knows.
  const HeldOperations& held() const { return held_; }
  const ReportBook& reports() const { return reports_; }
  // The newest answer to each operation that is reported. Only what is durable.
  const std::map<OperationKey, v1::OperationAnswer>& answers() const { return answers_; }
  // How far rollouts are. Only what is durable.
  const RolloutBook& rollouts() const { return rollouts_; }

 private:
  using Answers = std::map<OperationKey, v1::OperationAnswer>;
  // A report that is to be answered.
  struct Ticket {
    uint64_t number = 0;
    std::string manager;
  };
  // A decision that waits for its write.
  struct Pending {
    uint64_t write = 0;
    Decision decision;
    std::vector<Ticket> tickets;
    std::vector<Forced> forced;  // of this decision, as `ended`
    std::vector<Ended> ended;
    Answers answers;  // of the managers of `tickets`
  };

  void On(Recovered& event);
  void On(PolicyChanged& event);
  void On(Reported& event);
  void On(FleetSeen& event);
  void On(Written& event);
  void On(Forced& event);
  void On(Ended& event);

  Output<Action> Finish();
  // What is held, and what operators have approved since.
  HeldOperations WithForced(std::vector<Note>& notes);
  // Without those that operators have ended since, which are returned.
  std::vector<OperationKey> TakeOutEnded(HeldOperations& held, std::vector<Note>& notes);
  Answers AnswersOf(const Decision& decision, const std::vector<Ticket>& tickets,
                    const FleetView& view) const;
  // It is durable.
  void Conclude(Pending pending);
  void AnswerTickets(const std::vector<Ticket>& tickets);
  void SendOrders(const HeldOperations& next);
  bool Idle() const { return held_.empty() && reports_.managers().empty(); }

  TimePoint now_{};
  bool recovered_ = false;
  Policy policy_;
  ReportBook reports_;
  HeldOperations held_;
  std::vector<Forced> forced_;   // since the last decision
  std::vector<Ended> ended_;     // since the last decision
  std::vector<Ticket> tickets_;  // since the last decision
  bool look_wanted_ = false;
  bool look_out_ = false;
  TimePoint looked_at_ = TimePoint::min();
  TimePoint next_look_ = TimePoint::min();  // not before
  uint64_t writes_ = 0;
  bool write_again_ = false;  // what the last write left in the store is not known
  std::optional<Pending> pending_;
  Answers answers_;
  RolloutBook rollouts_;
  std::vector<ServerOrder> orders_;  // that hold
  Output<Action> out_;
};

}  // namespace shardmanager::taskcontroller
