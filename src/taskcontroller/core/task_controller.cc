#include "taskcontroller/core/task_controller.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "taskcontroller/core/orders.h"
#include "taskcontroller/describe/delays.h"

namespace shardmanager::taskcontroller {
namespace {

// Between two decisions: so many reports come at once when managers flood, and each decision looks
// at every replica (about 0.1 us for each).
constexpr Duration kBetweenLooks = Milliseconds(20);
constexpr Duration kBetweenLooksPerReplica = Duration(1);
constexpr Duration kAfterAFailedWrite = Milliseconds(500);
// Without a report: for what ends by itself.
constexpr Duration kLookAgain = Seconds(5);

}  // namespace

Output<Action> TaskController::OnEvent(TimePoint now, Event event) {
  now_ = now;
  std::visit([this](auto& e) { On(e); }, event);
  return Finish();
}

Output<Action> TaskController::OnAdvance(TimePoint now) {
  now_ = now;
  return Finish();
}

void TaskController::On(Recovered& event) {
  recovered_ = true;
  policy_ = event.policy;
  if (!Planted(Defect::kForgetsApprovals)) held_ = std::move(event.held);
  for (auto& [key, operation] : held_) operation.since = operation.progress_at = now_;
  rollouts_.Begin(held_, now_);
  SendOrders(held_);
}

void TaskController::On(PolicyChanged& event) {
  policy_ = event.policy;
  look_wanted_ = !Idle();
}

void TaskController::On(Reported& event) {
  const Ticket ticket{event.report.ticket, event.report.manager};
  if (absl::Status taken = reports_.Take(std::move(event.report), now_); !taken.ok()) {
    out_.actions.push_back(Answer{ticket.number, std::move(taken), {}});
    return;
  }
  tickets_.push_back(ticket);
  look_wanted_ = true;
}

void TaskController::On(Forced& event) {
  forced_.push_back(std::move(event));
  look_wanted_ = true;
}

void TaskController::On(Ended& event) {
  ended_.push_back(std::move(event));
  look_wanted_ = true;
}

void TaskController::On(FleetSeen& event) {
  look_out_ = false;
  const FleetView& view = *event.view;
  looked_at_ = now_;
  next_look_ =
      now_ + kBetweenLooks + kBetweenLooksPerReplica * static_cast<int64_t>(view.replicas.size());
  reports_.Forget(held_, now_);
  std::erase_if(answers_, [&](const auto& a) { return reports_.Find(a.first) == nullptr; });
  std::vector<Note> notes;
  std::vector<Forced> forced = forced_;
  HeldOperations held = WithForced(notes);
  std::vector<Ended> ended = ended_;
  const std::vector<OperationKey> finished = TakeOutEnded(held, notes);
  Pending pending{.decision = Decide(policy_, reports_, held, view, now_),
                  .tickets = std::exchange(tickets_, {})};
  pending.decision.notes.insert(pending.decision.notes.begin(), notes.begin(), notes.end());
  pending.decision.finished.insert(pending.decision.finished.end(), finished.begin(),
                                   finished.end());
  pending.forced = std::move(forced);
  pending.ended = std::move(ended);
  pending.answers = AnswersOf(pending.decision, pending.tickets, view);
  const HeldOperations& next = pending.decision.next;
  const bool same = std::equal(held_.begin(), held_.end(), next.begin(), next.end(),
                               [](const auto& a, const auto& b) {
                                 return a.first == b.first && a.second.SameRecord(b.second);
                               });
  SendOrders(next);
  if (same && !write_again_) return Conclude(std::move(pending));
  pending.write = ++writes_;
  out_.actions.push_back(Persist{pending.write, next});
  if (Planted(Defect::kApprovesBeforeItIsStored)) return Conclude(std::move(pending));
  pending_ = std::move(pending);
}

void TaskController::On(Written& event) {
  if (!pending_ || pending_->write != event.write) return;
  Pending pending = *std::exchange(pending_, std::nullopt);
  write_again_ = !event.ok;
  if (event.ok) return Conclude(std::move(pending));
  look_wanted_ = true;
  next_look_ = now_ + kAfterAFailedWrite;
  forced_.insert(forced_.begin(), pending.forced.begin(), pending.forced.end());
  ended_.insert(ended_.begin(), pending.ended.begin(), pending.ended.end());
  for (const Ticket& ticket : pending.tickets) {
    out_.actions.push_back(
        Answer{ticket.number,
               absl::UnavailableError("the coordination store did not take what was decided, so "
                                      "nothing was approved; report again"),
               {}});
  }
}

Output<Action> TaskController::Finish() {
  if (recovered_ && !Idle() && now_ >= looked_at_ + kLookAgain) look_wanted_ = true;
  const bool may_look = recovered_ && !look_out_ && !pending_;
  if (look_wanted_ && may_look && now_ >= next_look_) {
    look_wanted_ = false;
    look_out_ = true;
    out_.actions.push_back(LookAtFleet{});
  }
  out_.next_wake = kNever;
  if (recovered_ && !look_out_ && !pending_ && !Idle()) {
    out_.next_wake = look_wanted_ ? next_look_ : looked_at_ + kLookAgain;
  }
  return std::exchange(out_, {});
}

HeldOperations TaskController::WithForced(std::vector<Note>& notes) {
  HeldOperations held = held_;
  for (const auto& [key, who] : std::exchange(forced_, {})) {
    const WantedOperation* wanted = reports_.Find(key);
    if (wanted == nullptr && !held.contains(key)) continue;  // it has gone since
    HeldOperation& operation = held[key];
    if (operation.stage == HeldStage::kBegun) continue;
    if (wanted != nullptr) operation.info = wanted->reported.info;
    notes.push_back({NoteKind::kOperationForced, operation.info.server,
                     absl::StrCat(key.manager, "/", key.id, ", against the limits, by ",
                                  who.empty() ? "an operator" : who),
                     key.id});
    operation.stage = HeldStage::kApproved;
    operation.leaving = {};
    operation.forced = true;
    operation.since = now_;
  }
  return held;
}

// A manager that comes back, and reports it, has to ask again.
std::vector<OperationKey> TaskController::TakeOutEnded(HeldOperations& held,
                                                       std::vector<Note>& notes) {
  std::vector<OperationKey> finished;
  for (const auto& [key, who] : std::exchange(ended_, {})) {
    const auto found = held.find(key);
    if (found == held.end() || found->second.stage != HeldStage::kBegun) continue;
    notes.push_back(
        {NoteKind::kOperationEnded, found->second.info.server,
         absl::StrCat(key.manager, "/", key.id, ", though its manager did not say so, by ",
                      who.empty() ? "an operator" : who),
         key.id});
    held.erase(found);
    finished.push_back(key);
  }
  return finished;
}

TaskController::Answers TaskController::AnswersOf(const Decision& decision,
                                                  const std::vector<Ticket>& tickets,
                                                  const FleetView& view) const {
  Answers answers;
  for (const Ticket& ticket : tickets) {
    for (const auto& [id, wanted] : reports_.Find(ticket.manager)->operations) {
      const OperationKey key{ticket.manager, id};
      const auto outcome = decision.outcomes.find(key);
      if (outcome == decision.outcomes.end() || answers.contains(key)) continue;
      const auto held = decision.next.find(key);
      const Duration use_within = held == decision.next.end()
                                      ? Duration(0)
                                      : held->second.since + policy_.approval() - now_;
      answers[key] = DescribeAnswer(id, wanted.reported.info, outcome->second, use_within, view);
    }
  }
  return answers;
}

void TaskController::Conclude(Pending pending) {
  held_ = std::move(pending.decision.next);
  rollouts_.Note({.held = held_,
                  .finished = pending.decision.finished,
                  .at_once = pending.decision.at_once,
                  .held_back = pending.decision.held_back},
                 reports_, now_);
  for (const auto& [key, stalled] : pending.decision.requeued) {
    reports_.Requeue(key, stalled, now_);
  }
  for (Note& note : pending.decision.notes) out_.actions.push_back(std::move(note));
  for (const Ticket& ticket : pending.tickets) {
    std::erase_if(answers_, [&](const auto& a) { return a.first.manager == ticket.manager; });
  }
  answers_.merge(pending.answers);
  AnswerTickets(pending.tickets);
  SendOrders(held_);
}

void TaskController::AnswerTickets(const std::vector<Ticket>& tickets) {
  for (const Ticket& ticket : tickets) {
    Answer answer{.ticket = ticket.number};
    const Manager& manager = *reports_.Find(ticket.manager);
    for (const auto& [id, wanted] : manager.operations) {
      const auto found = answers_.find({ticket.manager, id});
      if (found != answers_.end()) *answer.response.add_answers() = found->second;
    }
    const Duration again =
        manager.operations.empty()
            ? kReportAgain
            : std::min(kReportAgain,
                       kReportSoon + Milliseconds(static_cast<int64_t>(manager.operations.size())));
    answer.response.set_report_again_ms(static_cast<uint32_t>(again / Milliseconds(1)));
    out_.actions.push_back(std::move(answer));
  }
}

void TaskController::SendOrders(const HeldOperations& next) {
  std::vector<ServerOrder> orders = OrdersOf(held_, next, reports_, now_);
  if (orders == orders_) return;
  orders_ = std::move(orders);
  out_.actions.push_back(Order{orders_});
}

}  // namespace shardmanager::taskcontroller
