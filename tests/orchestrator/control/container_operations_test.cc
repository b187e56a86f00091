// Container operations, as cluster managers report them and operators ask for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/orchestrator/control/controller_fixture.h"

namespace shardmanager::orchestrator {
namespace {

class ContainerOperationsTest : public ControllerTest {
 protected:
  void Report1() {
    v1::ReportRequest request;
    request.set_app("kv");
    request.set_manager("kube-eu");
    request.set_manager_life(1);
    request.set_sequence(1);
    for (const char* id : {"rollout-42/kv-1", "rollout-42/kv-2"}) {
      v1::ContainerOperation& operation = *request.add_operations();
      operation.set_id(id);
      operation.set_kind(v1::RESTART);
      operation.set_server("kv-9");
    }
    absl::Status answer = absl::UnknownError("no answer");
    controller_->operations().Report(
        request, [&answer](const auto& response) { answer = response.status(); });
    RunAll();
    EXPECT_EQ(answer, absl::OkStatus());
  }
  absl::StatusOr<v1::GetRolloutsResponse> Rollouts(const std::string& app) {
    v1::GetRolloutsRequest request;
    request.set_app(app);
    absl::StatusOr<v1::GetRolloutsResponse> answer = absl::UnknownError("no answer");
    controller_->operations().GetRollouts(request,
                                          [&answer](const auto& response) { answer = response; });
    RunAll();
    return answer;
  }
};

TEST_F(ContainerOperationsTest, WhatIsReportedIsShownByItsRollout) {
  MakeCell();
  RunAll();
  Report1();
  const auto rollouts = Rollouts("");
  ASSERT_TRUE(rollouts.ok() && rollouts->rollouts_size() == 1) << rollouts.status();
  const v1::RolloutStatus& rollout = rollouts->rollouts(0);
  EXPECT_EQ(rollout.app(), "kv");
  EXPECT_EQ(rollout.manager(), "kube-eu");
  EXPECT_EQ(rollout.name(), "rollout-42");
  EXPECT_EQ(rollout.waiting(), 2U);
  EXPECT_EQ(rollout.ends_in_ms(), -1) << "nothing was approved";
  ASSERT_EQ(rollout.delays_size(), 1);
  EXPECT_EQ(rollout.delays(0).operations(), 2U);
  EXPECT_EQ(Rollouts("kv")->rollouts_size(), 1);
}

TEST_F(ContainerOperationsTest, AnAppThatDoesNotExistHasNoRollouts) {
  MakeCell();
  RunAll();
  EXPECT_EQ(Rollouts("other").status(), absl::NotFoundError("no app \"other\""));
}

// Of a manager that never comes back.
TEST_F(ContainerOperationsTest, OnlyAnOperationThatIsMeantAndHasBegunIsEnded) {
  MakeCell();
  v1::StoredOperations stored;
  for (const auto& [id, stage] : {std::pair("rollout-42/kv-1", v1::HELD_BEGUN),
                                  std::pair("rollout-42/kv-2", v1::HELD_APPROVED)}) {
    v1::StoredOperation& operation = *stored.add_operations();
    operation.set_manager("kube-eu");
    operation.set_id(id);
    operation.set_kind(v1::RESTART);
    operation.set_server(id == std::string("rollout-42/kv-1") ? "kv-1" : "kv-2");
    operation.set_incarnation(1);
    operation.set_stage(stage);
  }
  Write({CreateNode{kPaths.operations(kApp), Seal(stored)}});
  RunAll();
  const auto end = [this](const std::string& id, const std::string& manager) {
    v1::EndOperationRequest request;
    request.set_app("kv");
    request.set_id(id);
    request.set_manager(manager);
    absl::Status answer = absl::UnknownError("no answer");
    controller_->operations().EndOperation(
        request, [&answer](const auto& response) { answer = response.status(); });
    RunAll();
    return answer.code();
  };
  EXPECT_EQ(end("rollout-42/kv-2", ""), absl::StatusCode::kNotFound) << "it has not begun";
  EXPECT_EQ(end("rollout-42/kv-1", "kube-us"), absl::StatusCode::kNotFound);
  EXPECT_EQ(end("rollout-42/kv-1", "kube-eu"), absl::StatusCode::kOk);
}

TEST_F(ContainerOperationsTest, AnAppThatDoesNotExistHasNoMaintenances) {
  MakeCell();
  RunAll();
  v1::GetMaintenancesRequest request;
  absl::Status answer = absl::UnknownError("no answer");
  const auto told = [&answer](const auto& response) { answer = response.status(); };
  request.set_app("other");
  controller_->operations().GetMaintenances(request, told);
  RunAll();
  EXPECT_EQ(answer, absl::NotFoundError("no app \"other\""));
  request.set_app("kv");
  controller_->operations().GetMaintenances(request, told);
  RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
}

TEST_F(ContainerOperationsTest, WithoutReportsThereIsNoRollout) {
  MakeCell();
  RunAll();
  const auto rollouts = Rollouts("kv");
  ASSERT_TRUE(rollouts.ok()) << rollouts.status();
  EXPECT_EQ(rollouts->rollouts_size(), 0);
}

}  // namespace
}  // namespace shardmanager::orchestrator
