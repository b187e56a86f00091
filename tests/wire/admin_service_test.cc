#include "wire/admin_service.h"

#include <gtest/gtest.h>

#include <memory>

#include "orchestrator/control/controller.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "tests/orchestrator/shell/silent_ports.h"
#include "wire/controller_calls.h"

namespace shardmanager::wire {
namespace {

TEST(AdminServiceTest, AnswersAChangeALittleBeforeTheClientGivesUp) {
  EXPECT_EQ(PatienceWithin(Seconds(1)), Milliseconds(800));
  EXPECT_EQ(PatienceWithin(Milliseconds(2'500)), Milliseconds(2'000));
  EXPECT_EQ(PatienceWithin(Seconds(10)), Milliseconds(9'500));
}

TEST(AdminServiceTest, DoesNotWaitForTheControllerForEver) {
  EXPECT_EQ(PatienceWithin(Seconds(3'600)), Milliseconds(29'500));
  EXPECT_LE(PatienceWithin(Milliseconds(-1)), Duration()) << "the client has gone";
}

class NoStores final : public CoordinationStoreFactory {
  std::unique_ptr<CoordinationStore> NewSession(SessionOptions) override { return nullptr; }
};
TEST(AdminServiceTest, PassesOnWhatTheControllerAnswersAndAddsTheVersion) {
  orchestrator::ControllerOptions options;
  options.cell.set_cell("home");
  NoStores stores;
  orchestrator::NoServers servers;
  orchestrator::NoClients clients;
  orchestrator::EventLog events;
  orchestrator::Controller controller(options, stores, servers, clients, events);
  AdminService admin(controller, "1.2.3", Gate::OfAnOpenCell());
  v1::GetStatusRequest request;
  v1::GetStatusResponse response;
  auto& service = static_cast<v1::Admin::Service&>(*admin.service());
  ASSERT_TRUE(service.GetStatus(/*context=*/nullptr, &request, &response).ok());
  EXPECT_EQ(response.cell(), "home");
  EXPECT_EQ(response.version(), "1.2.3");
}

}  // namespace
}  // namespace shardmanager::wire
