// Drives a TaskController: its fleet, its store and its clock.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_validation.h"
#include "taskcontroller/core/task_controller.h"
#include "tests/taskcontroller/fleet.h"

namespace shardmanager::taskcontroller {

// Three servers, each with a replica of every shard; the store takes every write unless it is held.
class TaskControllerTest : public ::testing::Test {
 protected:
  TaskControllerTest() {
    spec_.mutable_replication()->set_strategy(v1::SECONDARY_ONLY);
    spec_.mutable_replication()->set_replicas(3);
    spec_.mutable_availability()->set_max_unavailable_servers("3");
    Restart();
  }

  void Restart(HeldOperations held = {}) {
    core_.emplace();
    Handle(Recovered{Policy(WithDefaults(spec_)), std::move(held)});
  }

  void Handle(Event event) {
    Carry(core_->OnEvent(now_, std::move(event)));
    Settle();
  }
  void Advance(Duration time) {
    now_ += time;
    Carry(core_->OnAdvance(now_));
    Settle();
  }

  // Reports these operations, and returns the verdicts.
  using Operations = std::vector<ReportedOperation>;
  void Send(const std::string& manager, Operations operations) {
    Handle(Reported{Report{.ticket = ++ticket_,
                           .manager = manager,
                           .manager_life = 1,
                           .sequence = ++sequence_,
                           .operations = std::move(operations)}});
  }
  v1::ReportResponse Report1(const std::string& manager, Operations operations) {
    Advance(Seconds(1));
    Send(manager, std::move(operations));
    return answers_.empty() ? v1::ReportResponse() : answers_.back().response;
  }
  std::string Verdict(const std::string& manager, ReportedOperation operation) {
    const v1::ReportResponse response = Report1(manager, {std::move(operation)});
    if (response.answers().empty()) return "none";
    const v1::OperationAnswer& answer = response.answers(0);
    const std::string verdict = v1::OperationVerdict_Name(answer.verdict()).substr(10);
    return answer.delays().empty() ? verdict
                                   : absl::StrCat(verdict, " ", answer.delays(0).reason());
  }
  static ReportedOperation Restarts(const std::string& server,
                                    ReportedStage stage = ReportedStage::kWaiting,
                                    uint64_t life = 1) {
    return {.id = "restart-" + server,
            .info = {.kind = v1::RESTART,
                     .server = server,
                     .life = Incarnation(life),
                     .expected = Seconds(5)},
            .stage = stage};
  }
  std::vector<ServerOrder> orders() const { return orders_; }

  static Fleet MakeFleet(bool primaries) {
    Random random(1);
    return Fleet({.regions = 3, .servers = 3, .shards = 2, .replicas = 3, .primaries = primaries},
                 random);
  }

  TimePoint now_{};
  v1::AppSpec spec_;
  Fleet fleet_ = MakeFleet(false);
  bool complete_ = true;
  std::string map_missing_;  // as FleetView::map_missing
  bool hold_writes_ = false;
  std::optional<Persist> write_;
  std::optional<TaskController> core_;
  std::vector<Answer> answers_;
  std::vector<NoteKind> notes_;

 private:
  void Carry(Output<Action> output) {
    for (Action& action : output.actions) std::visit([this](auto& a) { Do(a); }, action);
  }
  void Settle() {
    while (look_ || (write_ && !hold_writes_)) {
      if (std::exchange(look_, false)) {
        FleetView view = fleet_.View();
        view.complete = complete_;
        view.map_missing = map_missing_;
        if (!map_missing_.empty()) view.servers.clear(), view.by_name.clear();
        Carry(core_->OnEvent(now_, FleetSeen{&view}));
      } else {
        const uint64_t write = std::exchange(write_, std::nullopt)->write;
        Carry(core_->OnEvent(now_, Written{write, true}));
      }
    }
  }
  void Do(LookAtFleet&) { look_ = true; }
  void Do(Persist& action) { write_ = std::move(action); }
  void Do(Answer& action) { answers_.push_back(std::move(action)); }
  void Do(Order& action) { orders_ = std::move(action.orders); }
  void Do(Note& action) { notes_.push_back(action.kind); }

  bool look_ = false;
  uint64_t ticket_ = 0;
  uint64_t sequence_ = 0;
  std::vector<ServerOrder> orders_;
};

}  // namespace shardmanager::taskcontroller
