// An app with an orchestrator of its own, through the controller: it supplies its map, cluster
// managers report operations, and it is asked to move what has to leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/orchestrator/control/controller_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::HasSubstr;

class SuppliedMapsTest : public ControllerTest {
 protected:
  SuppliedMapsTest() {
    MakeCell();
    RunAll();
    EXPECT_EQ(Apply(OfTheApplication()), absl::OkStatus());
  }
  static v1::AppSpec OfTheApplication() {
    v1::AppSpec spec;
    spec.set_name("own");
    spec.set_orchestrator(v1::APPLICATION);
    spec.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
    spec.mutable_replication()->set_replicas(2);
    spec.mutable_availability()->set_max_unavailable_servers("2");
    return spec;
  }
  absl::Status Apply(const v1::AppSpec& spec) {
    v1::ApplyAppRequest request;
    *request.mutable_spec() = spec;
    request.set_force(true);
    return Ask<v1::ApplyAppResponse>(
               [&](auto reply) { controller_->operations().ApplyApp(request, std::move(reply)); })
        .status();
  }
  // The primary of the one shard is on `primary`, the other replica on the other server.
  v1::SupplyMapRequest Map(const std::string& primary) {
    v1::SupplyMapRequest request;
    request.set_app("own");
    request.set_supplier_life(1);
    request.set_sequence(++sequence_);
    for (const char* name : {"own-1", "own-2"}) {
      v1::SuppliedServer& server = *request.add_servers();
      server.set_server(name);
      server.set_incarnation(1);
      server.mutable_fault_domain()->set_region("r1");
      v1::SuppliedReplica& replica = *server.add_replicas();
      replica.set_shard("s-0");
      replica.set_role(name == primary ? v1::PRIMARY : v1::SECONDARY);
      replica.set_serving(true);
    }
    return request;
  }
  absl::StatusOr<v1::SupplyMapResponse> Supply(const v1::SupplyMapRequest& request) {
    return Ask<v1::SupplyMapResponse>(
        [&](auto reply) { controller_->operations().SupplyMap(request, std::move(reply)); });
  }
  v1::OperationAnswer Report(v1::OperationStage stage) {
    v1::ReportRequest request;
    request.set_app("own");
    request.set_manager("kube-eu");
    request.set_manager_life(1);
    request.set_sequence(++report_);
    v1::ContainerOperation& operation = *request.add_operations();
    operation.set_id("rollout/own-1");
    operation.set_kind(v1::RESTART);
    operation.set_server("own-1");
    operation.set_incarnation(1);
    operation.set_stage(stage);
    const auto answer = Ask<v1::ReportResponse>(
        [&](auto reply) { controller_->operations().Report(request, std::move(reply)); });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() && answer->answers_size() == 1 ? answer->answers(0) : v1::OperationAnswer();
  }

 private:
  template <typename Response, typename Call>
  absl::StatusOr<Response> Ask(Call call) {
    absl::StatusOr<Response> answer = absl::UnknownError("no answer");
    call([&answer](absl::StatusOr<Response> response) { answer = std::move(response); });
    RunAll();
    return answer;
  }

  uint64_t sequence_ = 0;
  uint64_t report_ = 0;
};

TEST_F(SuppliedMapsTest, WithoutAMapAnOperationWaitsForIt) {
  const v1::OperationAnswer answer = Report(v1::OPERATION_WAITING);
  EXPECT_EQ(answer.verdict(), v1::OPERATION_DELAYED);
  ASSERT_EQ(answer.delays_size(), 1);
  EXPECT_EQ(answer.delays(0).reason(), "MapMissing");
  EXPECT_THAT(answer.delays(0).message(), HasSubstr("has not supplied its shard map yet"));
}

TEST_F(SuppliedMapsTest, AnOperationWaitsUntilTheApplicationHasMovedWhatItIsAskedTo) {
  auto asked = Supply(Map("own-1"));
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_EQ(asked->asked_size(), 0);
  const v1::OperationAnswer answer = Report(v1::OPERATION_WAITING);
  ASSERT_EQ(answer.delays_size(), 1);
  EXPECT_EQ(answer.delays(0).reason(), "Draining");
  asked = Supply(Map("own-1"));
  ASSERT_EQ(asked->asked_size(), 1);
  EXPECT_EQ(asked->asked(0).server(), "own-1");
  EXPECT_TRUE(asked->asked(0).give_nothing());
  EXPECT_TRUE(asked->asked(0).primaries_leave());
  EXPECT_FALSE(asked->asked(0).all_leave());
  EXPECT_EQ(asked->asked(0).replicas_left(), 1u);
  EXPECT_THAT(asked->asked(0).reason(), HasSubstr("container operation"));
  asked = Supply(Map("own-2"));
  EXPECT_EQ(asked->asked(0).replicas_left(), 0u);
}

TEST_F(SuppliedMapsTest, OnlyTheNextMapMayBeSaidToBeUnchanged) {
  v1::SupplyMapRequest unchanged;
  unchanged.set_app("own");
  unchanged.set_supplier_life(1);
  unchanged.set_unchanged(true);
  unchanged.set_sequence(1);
  EXPECT_TRUE(absl::IsAborted(Supply(unchanged).status())) << "of what?";
  ASSERT_TRUE(Supply(Map("own-1")).ok());  // 1
  unchanged.set_sequence(2);
  EXPECT_TRUE(Supply(unchanged).ok());
  EXPECT_TRUE(absl::IsAborted(Supply(unchanged).status())) << "a repeat";
  unchanged.set_sequence(4);
  EXPECT_TRUE(absl::IsAborted(Supply(unchanged).status())) << "3 may have been another one";
}

TEST_F(SuppliedMapsTest, WhoHasNoOrchestratorOfItsOwnSuppliesNothing) {
  v1::SupplyMapRequest request = Map("own-1");
  request.set_app("kv");
  EXPECT_EQ(Supply(request).status().code(), absl::StatusCode::kFailedPrecondition);
  request.set_app("other");
  EXPECT_EQ(Supply(request).status(), absl::NotFoundError("no app \"other\""));
  request.set_app("own");
  request.mutable_servers(0)->mutable_replicas(0)->clear_role();
  EXPECT_EQ(Supply(request).status().code(), absl::StatusCode::kInvalidArgument);
}

// "Nothing known" is not "nothing there".
TEST_F(SuppliedMapsTest, BeforeAMapNobodyIsToldThatThereAreNoServers) {
  EXPECT_TRUE(absl::IsUnavailable(GetServers("own").status()));
  v1::DrainRequest drain;
  drain.set_app("own");
  drain.mutable_drain()->mutable_scope()->set_server("own-1");
  absl::Status answer = absl::UnknownError("no answer");
  controller_->operations().Drain(drain,
                                  [&answer](const auto& response) { answer = response.status(); });
  RunAll();
  EXPECT_TRUE(absl::IsUnavailable(answer)) << answer;
  ASSERT_TRUE(Supply(Map("own-1")).ok());
  EXPECT_EQ(GetServers("own").status(), absl::OkStatus());
}

TEST_F(SuppliedMapsTest, ANoticeIsKeptThoughNoServerIsKnownYet) {
  v1::AddMaintenanceRequest request;
  v1::Maintenance& notice = *request.mutable_maintenance();
  notice.set_id("change-1");
  notice.mutable_scope()->set_server("own-1");
  notice.set_impact(v1::MACHINE_LOSS);
  notice.set_start_ms(now_ms_ + 600'000);
  notice.set_end_ms(now_ms_ + 900'000);
  for (int i = 0; i < 2; ++i) {  // the second time it changes one that is known
    absl::Status answer = absl::UnknownError("no answer");
    controller_->operations().AddMaintenance(
        request, [&answer](const auto& response) { answer = response.status(); });
    RunAll();
    EXPECT_EQ(answer, absl::OkStatus());
    v1::GetMaintenancesRequest all;
    all.set_app("own");
    int known = 0;
    controller_->operations().GetMaintenances(
        all, [&known](const auto& response) { known = response->maintenances_size(); });
    RunAll();
    EXPECT_EQ(known, 1);
  }
}

TEST_F(SuppliedMapsTest, AnAppKeepsItsOrchestrator) {
  v1::AppSpec other = OfTheApplication();
  other.clear_orchestrator();
  other.mutable_key_space()->add_split_points("m");
  EXPECT_THAT(std::string(Apply(other).message()),
              HasSubstr("orchestrator: found shard-manager; allowed: application, as before"));
}

}  // namespace
}  // namespace shardmanager::orchestrator
