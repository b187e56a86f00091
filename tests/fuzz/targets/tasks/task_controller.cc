// The task controller's core under any sequence of reports, failures, writes and leaders: what it
// says is stored, and no shard loses both of its replicas by operations.
#include "taskcontroller/core/task_controller.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_validation.h"
#include "taskcontroller/describe/rollouts.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/taskcontroller/fleet.h"

namespace shardmanager::taskcontroller {
namespace {

class FuzzedTasks {
 public:
  explicit FuzzedTasks(fuzz::FuzzInput& input)
      : input_(input),
        random_(1),
        fleet_({.regions = 2, .servers = 4, .shards = 3, .replicas = 2, .primaries = input.Flag()},
               random_) {
    spec_.mutable_replication()->set_strategy(fleet_.sizes().primaries ? v1::PRIMARY_SECONDARY
                                                                       : v1::SECONDARY_ONLY);
    spec_.mutable_replication()->set_replicas(2);
    spec_.mutable_availability()->set_max_unavailable_servers("3");
    spec_ = WithDefaults(std::move(spec_));
    Lead();
  }

  // What operators are told agrees with what is reported and held.
  void CheckRollouts() const {
    const auto all = DescribeRollouts(core_->held(), core_->reports(), core_->answers(),
                                      core_->rollouts(), now_);
    size_t under_way = 0;
    for (const v1::RolloutStatus& rollout : all) {
      const uint32_t mine = rollout.preparing() + rollout.approved() + rollout.begun();
      under_way += mine;
      SM_CHECK(!rollout.forecast_reason().empty(), "each forecast says what it rests on");
      SM_CHECK(rollout.ends_in_ms() >= -1, "no forecast is in the past");
      const bool left = mine + rollout.waiting() > 0;
      SM_CHECK(!left || rollout.ends_in_ms() != 0, "what is left takes some time");
    }
    SM_CHECK(under_way == core_->held().size(), "each operation is of one rollout");
  }

  void Step() {
    switch (input_.Below(10)) {
      case 0:
        return Lead();
      case 1:
        return FinishWrite();
      case 2:
        return Harm(fleet_.servers()[input_.Below(4)]);
      case 3:
        fleet_.MoveOnePrimary(orders_);
        return;
      case 4:
        now_ += Milliseconds(int64_t{100} * input_.Byte());
        return Carry(core_->OnAdvance(now_));
      case 5:
        return Handle(Forced{{"m-0", absl::StrCat(input_.Below(4))}, ""});
      default:
        return SendReport();
    }
  }

 private:
  void Lead() {
    core_ = std::make_unique<TaskController>();
    write_.reset();
    Handle(Recovered{Policy(spec_), stored_});
  }

  void SendReport() {
    Report report{.ticket = ++ticket_,
                  .manager = absl::StrCat("m-", input_.Below(2)),
                  .manager_life = 1 + input_.Below(2),
                  .sequence = input_.Flag() ? ++sequence_ : input_.Byte()};
    std::map<std::string, ReportedOperation> operations;
    for (uint32_t i = input_.Below(4); i > 0; --i) {
      ReportedOperation operation{.id = absl::StrCat(input_.Below(4))};
      operation.info = {.kind = static_cast<v1::OperationKind>(1 + input_.Below(4)),
                        .server = absl::StrCat("kv-", input_.Below(5)),
                        .life = Incarnation(input_.Below(4)),
                        .expected = Seconds(input_.Byte())};
      operation.stage = static_cast<ReportedStage>(input_.Below(3));
      operation.pending = Seconds(input_.Byte());
      operations[operation.id] = operation;
    }
    for (auto& [id, operation] : operations) report.operations.push_back(operation);
    managers_[report.ticket] = report.manager;
    Handle(Reported{std::move(report)});
  }

  void Harm(TrueServer& server) {
    switch (input_.Below(3)) {
      case 0:
        server.live = !server.live;
        server.life += server.live;
        break;
      default:
        for (TrueReplica& replica : server.replicas) replica.serving = input_.Flag();
    }
  }

  void FinishWrite() {
    if (!write_) return;
    const Persist write = *std::exchange(write_, std::nullopt);
    const uint32_t outcome = input_.Below(4);
    if (outcome != 0) stored_ = write.held;
    Handle(Written{write.write, outcome > 1});
  }

  void Handle(Event event) {
    Carry(core_->OnEvent(now_, std::move(event)));
    while (std::exchange(look_, false)) {
      const FleetView view = fleet_.View();
      Carry(core_->OnEvent(now_, FleetSeen{&view}));
    }
  }
  void Carry(Output<Action> output) {
    for (Action& action : output.actions) std::visit([this](auto& a) { Do(a); }, action);
  }

  void Do(LookAtFleet&) { look_ = true; }
  void Do(Order& action) { orders_ = action.orders; }
  void Do(Note&) {}
  void Do(Persist& action) {
    SM_CHECK(!write_, "one write is out at a time");
    CheckWhatBegins(action.held);
    write_ = action;
  }
  void Do(Answer& action) {
    const std::string manager = managers_.at(action.ticket);
    for (const v1::OperationAnswer& answer : action.response.answers()) {
      const auto stored = stored_.find({manager, answer.id()});
      const bool held = stored != stored_.end();
      const bool start = answer.delays().empty() && !held;  // a start is never held
      if (answer.verdict() == v1::OPERATION_APPROVED) {
        SM_CHECK(held && stored->second.stage >= HeldStage::kApproved, "an approval is stored");
      }
      if (answer.verdict() == v1::OPERATION_GO && !start) {
        SM_CHECK(held && stored->second.stage == HeldStage::kBegun, "what may begin is stored");
      }
    }
  }

  // Of each shard on the server one replica stays, on a server where nothing begins.
  void CheckWhatBegins(const HeldOperations& held) {
    std::vector<std::string> away;
    for (const auto& [key, operation] : held) {
      if (operation.stage == HeldStage::kBegun || operation.forced) {
        away.push_back(operation.info.server);
      }
    }
    for (const auto& [key, operation] : held) {
      const auto before = core_->held().find(key);
      const bool is_new =
          before == core_->held().end() || before->second.stage != HeldStage::kBegun;
      if (operation.stage != HeldStage::kBegun || operation.forced || !is_new) continue;
      const TrueServer& server = fleet_.Find(operation.info.server);
      SM_CHECK(operation.info.life.value() == server.life, "nothing begins on a former life");
      for (const TrueReplica& replica : server.replicas) {
        if (!server.live || !replica.serving) continue;
        SM_CHECK(fleet_.Serving(replica.shard, away) > 0, "one replica of the shard stays");
      }
    }
  }

  fuzz::FuzzInput& input_;
  Random random_;
  Fleet fleet_;
  v1::AppSpec spec_;
  TimePoint now_{};
  std::unique_ptr<TaskController> core_;
  HeldOperations stored_;
  std::optional<Persist> write_;
  std::vector<ServerOrder> orders_;
  std::map<uint64_t, std::string> managers_;  // by ticket
  bool look_ = false;
  uint64_t ticket_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace

SM_FUZZ_TARGET(task_controller) {
  FuzzedTasks tasks(input);
  while (!input.empty()) {
    tasks.Step();
    tasks.CheckRollouts();
  }
}

}  // namespace shardmanager::taskcontroller
