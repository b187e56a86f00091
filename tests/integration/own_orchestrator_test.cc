// An application with an orchestrator of its own, through the wire: cluster managers negotiate with
// the task controller, and the application is asked to move what has to leave.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/localcluster/cluster_manager.h"
#include "gmock/gmock.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "shardmanager/v1/task_control.grpc.pb.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::ClusterManager;

// The application: six servers in two regions, twelve shards with a primary and a secondary, one in
// each region. It obeys each request at once, and restarts in no time.
class Application {
 public:
  Application() {
    for (int i = 0; i < 12; ++i) {
      primary_[Name(i)] = Server(i % 6);
      secondary_[Name(i)] = Server((i % 6 + 3) % 6);
    }
    for (int i = 0; i < 6; ++i) lives_[Server(i)] = 1;
  }

  void Restart(const std::string& server) {
    for (const auto& [shard, holder] : primary_) primaries_hit_ += holder == server;
    down_.insert(server);
    most_down_ = std::max(most_down_, down_.size());
  }
  bool Settled(const std::string& server) {
    if (down_.erase(server) > 0) ++lives_[server];
    return true;
  }

  v1::SupplyMapRequest Map() {
    v1::SupplyMapRequest request;
    request.set_app("search");
    request.set_supplier_life(1);
    request.set_sequence(++sequence_);
    for (const auto& [name, life] : lives_) {
      v1::SuppliedServer& server = *request.add_servers();
      server.set_server(name);
      server.set_incarnation(life);
      server.set_down(down_.contains(name));
      server.set_process(absl::StrCat(name, "/", life));
      server.mutable_fault_domain()->set_region(name < Server(3) ? "r1" : "r2");
      AddReplicas(primary_, v1::PRIMARY, server);
      AddReplicas(secondary_, v1::SECONDARY, server);
    }
    return request;
  }
  void Obey(const v1::SupplyMapResponse& asked) {
    for (const v1::AskedOfServer& request : asked.asked()) {
      if (!request.primaries_leave()) continue;
      for (auto& [shard, holder] : primary_) {
        if (holder == request.server()) std::swap(holder, secondary_[shard]);
      }
    }
  }
  int primaries_hit() const { return primaries_hit_; }
  size_t most_down() const { return most_down_; }
  uint64_t life(const std::string& server) const { return lives_.at(server); }

  static std::string Server(int i) { return absl::StrCat("search-", i); }

 private:
  using Holders = std::map<std::string, std::string>;  // by shard

  static std::string Name(int i) { return absl::StrCat("shard-", i); }
  static void AddReplicas(const Holders& holders, v1::Role role, v1::SuppliedServer& server) {
    for (const auto& [shard, holder] : holders) {
      if (holder != server.server()) continue;
      v1::SuppliedReplica& replica = *server.add_replicas();
      replica.set_shard(shard);
      replica.set_role(role);
      replica.set_serving(!server.down());
    }
  }

  Holders primary_;
  Holders secondary_;
  std::map<std::string, uint64_t> lives_;
  std::set<std::string> down_;
  uint64_t sequence_ = 0;
  int primaries_hit_ = 0;
  size_t most_down_ = 0;
};

class OwnOrchestratorTest : public ClusterTest {
 protected:
  absl::Status Start() {
    if (absl::Status core = cluster_->StartCore(); !core.ok()) return core;
    const auto channel = cluster_->security().Connect(cluster_->admin_endpoint());
    tasks_ = v1::TaskControl::NewStub(channel);
    v1::ApplyAppRequest request;
    v1::AppSpec& spec = *request.mutable_spec();
    spec.set_name("search");
    spec.set_orchestrator(v1::APPLICATION);
    spec.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
    spec.mutable_replication()->set_replicas(2);
    spec.mutable_availability()->set_max_unavailable_servers("6");
    v1::ApplyAppResponse response;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const grpc::Status applied =
        v1::Admin::NewStub(channel)->ApplyApp(&context, request, &response);
    return applied.ok() ? absl::OkStatus() : absl::InternalError(applied.error_message());
  }
  void SupplyAndObey() {
    v1::SupplyMapResponse asked;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    if (tasks_->SupplyMap(&context, application_.Map(), &asked).ok()) application_.Obey(asked);
  }
  std::unique_ptr<ClusterManager> Manager(const std::string& name) {
    const local::ContainerPort port{
        .begin = [this](const auto& operation) { application_.Restart(operation.container()); },
        .done = [this](const std::string& server) { return application_.Settled(server); },
        .is_process = [](const std::string& server,
                         const std::string& process) { return process.starts_with(server + "/"); }};
    return std::make_unique<ClusterManager>(
        local::ClusterManagerOptions{.name = name,
                                     .app = "search",
                                     .endpoint = cluster_->admin_endpoint(),
                                     .transport = cluster_->security().transport()},
        port);
  }

  Application application_;
  std::unique_ptr<v1::TaskControl::Stub> tasks_;
};

TEST_F(OwnOrchestratorTest, TwoManagersRestartEverythingAndNoPrimaryAndNoShardIsHit) {
  SM_ASSERT_OK(Start());
  const auto one = Manager("manager-1");
  const auto two = Manager("manager-2");
  for (int i = 0; i < 6; ++i) {
    ClusterManager& manager = i < 3 ? *one : *two;
    SM_ASSERT_OK(manager.Want(v1::RESTART, Application::Server(i), "all anew"));
  }
  const auto until = std::chrono::steady_clock::now() + 3 * kPatience;
  while (!(one->idle() && two->idle())) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    SupplyAndObey();
    one->Tick().IgnoreError();
    two->Tick().IgnoreError();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(application_.primaries_hit(), 0);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(application_.life(Application::Server(i)), 2u);
  EXPECT_LE(application_.most_down(), 3u) << "never both replicas of a shard";
}

}  // namespace
}  // namespace shardmanager::testing
