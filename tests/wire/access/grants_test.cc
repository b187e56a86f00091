// Grants over real connections, at a control plane that leads: they hold at once, and all changes
// say who made them.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/memory/memory_ensemble.h"
#include "orchestrator/control/controller.h"
#include "shardmanager/v1/access.grpc.pb.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "tests/orchestrator/shell/silent_ports.h"
#include "tests/security/cell_certs.h"
#include "wire/access/access_service.h"
#include "wire/admin_service.h"
#include "wire/controller_calls.h"

namespace shardmanager::wire {
namespace {

using shardmanager::testing::CellCerts;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Any thread posts; one thread runs it all, and the store in memory. No time passes.
class PumpedExecutor final : public Executor {
 public:
  void Post(Task task) override {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    posted_.notify_all();
  }
  void PostAt(TimePoint, Task) override {}
  void RunThere(const Task& task) override { task(); }  // nothing runs any more
  void Stop() override {}
  TimePoint Now() const override { return {}; }

  void RunUntilEnded(MemoryEnsemble& ensemble) {
    while (true) {
      ensemble.RunUntilIdle();
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
      if (ended_) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }
  void End() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    posted_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<Task> tasks_;
  bool ended_ = false;
};

// More than a test makes that does not mean to.
constexpr double kCallsPerSecond = 1'000;

class GrantsTest : public ::testing::Test, public CoordinationStoreFactory {
 protected:
  GrantsTest() {
    auto control = std::make_unique<PumpedExecutor>();
    executor_ = control.get();
    orchestrator::Controller::Executors executors{.control = std::move(control),
                                                  .solver = std::make_unique<PumpedExecutor>()};
    controller_ = std::make_unique<orchestrator::Controller>(Options(), *this, servers_, clients_,
                                                             events_, std::move(executors));
    const Gate gate = GateOf(transport_, *controller_,
                             std::make_shared<security::Limits>(
                                 security::Limits::Options{.calls_per_s = kCallsPerSecond}));
    admin_ = std::make_unique<AdminService>(*controller_, "1.2.3", gate);
    access_ = std::make_unique<AccessService>(*controller_, "prod", gate);
    grpc::ServerBuilder builder;
    transport_->ListenAt("127.0.0.1:0", {security::Anybody()}, builder, &port_);
    builder.RegisterService(admin_->service());
    builder.RegisterService(access_->service());
    server_ = builder.BuildAndStart();
    controller_->Start("host:0");
    pump_ = std::thread([this] { executor_->RunUntilEnded(ensemble_); });
    AwaitLead();
  }
  ~GrantsTest() override {
    server_->Shutdown();
    executor_->End();
    pump_.join();
    controller_->Stop();
  }

  static std::shared_ptr<const Transport> TransportOf(const Security& security) {
    auto transport = Transport::Make(security, "", {security::Anybody()});
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  }
  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& path) {
    return TransportOf(certs_.Of("spiffe://prod/" + path))
        ->Open(absl::StrCat("127.0.0.1:", port_), security::AControlPlane());
  }
  template <typename Stub, typename Request, typename Response>
  static grpc::Status Call(Stub& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    return (stub.*method)(&context, request, response);
  }
  static grpc::Status GetApps(v1::Admin::Stub& stub) {
    v1::GetAppsResponse response;
    return Call(stub, &v1::Admin::Stub::GetApps, v1::GetAppsRequest(), &response);
  }
  // The newest.
  v1::ControlEvent LastChange() {
    uint64_t cursor = 0;
    v1::ControlEvent last;
    for (const v1::ControlEvent& event : events_.Read(&cursor, Duration(0))) {
      if (event.kind() == "AdminChange") last = event;
    }
    return last;
  }

 private:
  static orchestrator::ControllerOptions Options() {
    orchestrator::ControllerOptions options;
    options.cell.set_cell("prod");
    options.cell.set_zookeeper_tick_ms(200);
    options.cell.set_session_timeout_ms(4'000);
    options.cell.set_buckets(1);
    options.process = "control-0";
    options.wall_ms = [] { return int64_t{1'000}; };
    return options;
  }
  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override {
    return ensemble_.NewSession(std::move(options));
  }
  void AwaitLead() {
    const auto stub = v1::Access::NewStub(ChannelOf("admin/root"));
    const auto patience = std::chrono::system_clock::now() + std::chrono::seconds(30);
    v1::GetPolicyResponse policy;
    while (!Call(*stub, &v1::Access::Stub::GetPolicy, v1::GetPolicyRequest(), &policy).ok()) {
      ASSERT_LT(std::chrono::system_clock::now(), patience);
    }
  }

  CellCerts certs_{"prod"};
  const std::shared_ptr<const Transport> transport_ =
      TransportOf(certs_.Of("spiffe://prod/control-plane/sm-1"));
  MemoryEnsemble ensemble_;
  orchestrator::NoServers servers_;
  orchestrator::NoClients clients_;
  orchestrator::EventLog events_;
  PumpedExecutor* executor_ = nullptr;  // the controller's
  std::unique_ptr<orchestrator::Controller> controller_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<AccessService> access_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::thread pump_;
};

TEST_F(GrantsTest, AGrantHoldsFromItsAnswerOnAndUntilItIsRevoked) {
  const auto root = v1::Access::NewStub(ChannelOf("admin/root"));
  const auto alice = v1::Admin::NewStub(ChannelOf("operator/alice"));
  EXPECT_EQ(GetApps(*alice).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  v1::GrantRequest grant;
  grant.set_identity("operator/alice");
  grant.set_role("viewer");
  grant.set_who("somebody else");
  v1::GrantResponse granted;
  ASSERT_TRUE(Call(*root, &v1::Access::Stub::Grant, grant, &granted).ok());
  EXPECT_EQ(granted.grant().by(), "admin/root") << "what callers say of themselves is not believed";
  EXPECT_TRUE(GetApps(*alice).ok());
  v1::RevokeRequest revoke;
  revoke.set_identity("operator/alice");
  revoke.set_role("viewer");
  v1::RevokeResponse revoked;
  ASSERT_TRUE(Call(*root, &v1::Access::Stub::Revoke, revoke, &revoked).ok());
  EXPECT_EQ(GetApps(*alice).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(LastChange().by(), "admin/root");
  EXPECT_THAT(LastChange().message(), AllOf(HasSubstr("Revoke {"), HasSubstr("operator/alice")));
}

TEST_F(GrantsTest, AChangeSaysWhoMadeItAndOfWhichApp) {
  const auto root = v1::Admin::NewStub(ChannelOf("admin/root"));
  v1::ApplyAppRequest apply;
  apply.mutable_spec()->set_name("kv");
  apply.mutable_spec()->mutable_key_space()->add_shards()->set_id("s-0");
  apply.mutable_spec()->mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  v1::ApplyAppResponse applied;
  apply.set_dry_run(true);
  ASSERT_TRUE(Call(*root, &v1::Admin::Stub::ApplyApp, apply, &applied).ok());
  EXPECT_EQ(LastChange().kind(), "") << "nothing was changed";
  apply.set_dry_run(false);
  const grpc::Status status = Call(*root, &v1::Admin::Stub::ApplyApp, apply, &applied);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(LastChange().by(), "admin/root");
  EXPECT_EQ(LastChange().app(), "kv");
  EXPECT_THAT(LastChange().message(), HasSubstr("ApplyApp {"));
}

TEST_F(GrantsTest, NobodyGivesARoleToOneself) {
  const auto alice = v1::Access::NewStub(ChannelOf("operator/alice"));
  v1::GrantRequest grant;
  grant.set_identity("operator/alice");
  grant.set_role("admin");
  v1::GrantResponse granted;
  EXPECT_EQ(Call(*alice, &v1::Access::Stub::Grant, grant, &granted).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(LastChange().kind(), "") << "what is refused is no change";
}

TEST_F(GrantsTest, WhoCallsTooOftenIsRefusedAndNobodyElse) {
  const auto flood = v1::Access::NewStub(ChannelOf("operator/flood"));
  const auto other = v1::Access::NewStub(ChannelOf("operator/alice"));
  v1::WhoAmIResponse who;
  grpc::Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) {
    status = Call(*flood, &v1::Access::Stub::WhoAmI, v1::WhoAmIRequest(), &who);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(),
              HasSubstr("operator/flood makes more than 1000 calls a second"));
  status = Call(*other, &v1::Access::Stub::WhoAmI, v1::WhoAmIRequest(), &who);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace shardmanager::wire
