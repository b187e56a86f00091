// Each call of the services of a control plane, by each role and by strangers, over real
// connections: it is allowed or refused as the table in docs/security-roles.md says.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "discovery/hub.h"
#include "orchestrator/control/controller.h"
#include "security/access.h"
#include "shardmanager/v1/access.grpc.pb.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "shardmanager/v1/placer.grpc.pb.h"
#include "shardmanager/v1/task_control.grpc.pb.h"
#include "tests/orchestrator/shell/silent_ports.h"
#include "tests/security/cell_certs.h"
#include "tests/wire/access/any_call.h"
#include "tests/wire/access/role_table.h"
#include "wire/access/access_service.h"
#include "wire/admin_service.h"
#include "wire/controller_calls.h"
#include "wire/discovery_service.h"
#include "wire/placer_service.h"
#include "wire/task_control_service.h"

namespace shardmanager::wire {
namespace {

using ::google::protobuf::MethodDescriptor;
using shardmanager::testing::CellCerts;
using std::chrono::system_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

class NoStores final : public CoordinationStoreFactory {
  std::unique_ptr<CoordinationStore> NewSession(SessionOptions) override { return nullptr; }
};

std::shared_ptr<const Transport> TransportOf(const Security& security) {
  auto transport = Transport::Make(security, "", {security::Anybody()});
  EXPECT_TRUE(transport.ok()) << transport.status();
  return *std::move(transport);
}

std::shared_ptr<const v1::StoredPolicy> FourGrants() {
  auto policy = std::make_shared<v1::StoredPolicy>();
  for (const char* role : {"viewer", "operator", "app-owner", "admin"}) {
    v1::RoleGrant& grant = *policy->add_grants();
    grant.set_identity(absl::StrCat("operator/", role));
    grant.set_role(role);
    if (std::string(role) == "app-owner") grant.add_apps("kv");
  }
  return policy;
}

// All services of a control plane that never leads: what may be asked is answered all the same,
// though with an error of another kind.
class ControlPlane {
 public:
  ControlPlane(std::shared_ptr<const Transport> transport, Gate::Policies policies)
      : controller_(Options(), stores_, servers_, clients_, events_),
        gate_(transport, std::move(policies)) {
    grpc::ServerBuilder builder;
    transport->ListenAt("127.0.0.1:0", {security::Anybody()}, builder, &port_);
    for (grpc::Service* service : {admin_.service(), access_.service(), tasks_.service(),
                                   placer_.service(), discovery_.service()}) {
      builder.RegisterService(service);
    }
    server_ = builder.BuildAndStart();
    EXPECT_GT(port_, 0);
  }
  ~ControlPlane() {
    admin_.EndStreams();
    discovery_.EndStreams();
    server_->Shutdown(system_clock::now());
  }
  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }
  orchestrator::EventLog& events() { return events_; }

 private:
  static orchestrator::ControllerOptions Options() {
    orchestrator::ControllerOptions options;
    options.cell.set_cell("prod");
    return options;
  }

  NoStores stores_;
  orchestrator::NoServers servers_;
  orchestrator::NoClients clients_;
  orchestrator::EventLog events_;
  orchestrator::Controller controller_;
  const Gate gate_;
  discovery::Hub hub_;
  AdminService admin_{controller_, "1.2.3", gate_};
  AccessService access_{controller_, "prod", gate_};
  TaskControlService tasks_{controller_, gate_};
  PlacerService placer_{4, gate_};
  DiscoveryService discovery_{hub_, {.heartbeat = Milliseconds(10), .gate = gate_}};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

std::vector<const MethodDescriptor*> MethodsOfAControlPlane() {
  std::vector<const MethodDescriptor*> methods;
  for (const auto* file :
       {v1::DrainRequest::descriptor()->file(), v1::GrantRequest::descriptor()->file(),
        v1::ReportRequest::descriptor()->file(), v1::PlaceRequest::descriptor()->file(),
        v1::WatchRequest::descriptor()->file()}) {
    for (int m = 0; m < file->service(0)->method_count(); ++m) {
      methods.push_back(file->service(0)->method(m));
    }
  }
  return methods;
}

struct Someone {
  std::string path;               // of the identity
  std::string role;               // a column of the table
  std::vector<std::string> apps;  // that the role is of

  bool May(const std::string& cell, const std::string& app) const {
    if (cell == "of the app") return std::find(apps.begin(), apps.end(), app) != apps.end();
    EXPECT_TRUE(cell == "yes" || cell == "-" || cell == "of any app") << cell;
    return cell != "-";
  }
};
std::vector<Someone> Everybody() {
  return {{"operator/nobody", "no role", {}},
          {"operator/viewer", "viewer", {}},
          {"operator/operator", "operator", {}},
          {"operator/app-owner", "app-owner", {"kv"}},
          {"operator/admin", "admin", {}},
          {"admin/root", "admin", {}},
          {"server/kv/kv-1", "server", {"kv"}},
          {"server/search/s-1", "server", {"search"}},
          {"relay/r-1", "relay", {}},
          {"client/kv/c-1", "client", {"kv"}},
          {"client/kv/search/c-2", "client", {"kv", "search"}},
          {"control-plane/sm-2", "control-plane", {}}};
}

class MatrixTest : public ::testing::Test {
 protected:
  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& uri) {
    return TransportOf(certs_.Of(uri))->Open(control_plane_.endpoint(), security::AControlPlane());
  }
  std::shared_ptr<grpc::Channel> ChannelOfPath(const std::string& path) {
    return ChannelOf("spiffe://prod/" + path);
  }

  CellCerts certs_{"prod"};
  ControlPlane control_plane_{TransportOf(certs_.Of("spiffe://prod/control-plane/sm-1")),
                              [] { return FourGrants(); }};
};

TEST_F(MatrixTest, EachCallIsAllowedOrRefusedAsTheTableSays) {
  const auto table = TableOfTheDocument();
  size_t allowed = 0, refused = 0;
  for (const Someone& someone : Everybody()) {
    const auto channel = ChannelOfPath(someone.path);
    for (const MethodDescriptor* method : MethodsOfAControlPlane()) {
      const std::string call = absl::StrCat(method->service()->name(), ".", method->name());
      ASSERT_TRUE(table.contains(call)) << call;
      for (const char* app : {"kv", "search", ""}) {
        const bool may = someone.May(table.at(call).at(someone.role), app);
        const grpc::Status status = Call(channel, *method, RequestBytes(*method, app));
        EXPECT_EQ(IsRefused(status), !may) << call << " of app \"" << app << "\" by "
                                           << someone.path << ": " << status.error_message();
        if (!may) {
          EXPECT_THAT(status.error_message(),
                      AllOf(HasSubstr(someone.path), HasSubstr("missing role")));
        }
        ++(may ? allowed : refused);
      }
    }
  }
  EXPECT_GT(allowed, 200u);
  EXPECT_GT(refused, 600u);
}

TEST_F(MatrixTest, StrangersReachNoCall) {
  CellCerts others("prod");
  const std::string endpoint = control_plane_.endpoint();
  grpc::SslCredentialsOptions without_certificate;
  without_certificate.pem_root_certs = certs_.authority().certificate;
  grpc::ChannelArguments name;
  name.SetSslTargetNameOverride(security::kServerName);
  const std::map<std::string, std::shared_ptr<grpc::Channel>> strangers = {
      {"no TLS", Transport::Insecure()->Open(endpoint, security::AControlPlane())},
      {"no certificate",
       grpc::CreateCustomChannel(endpoint, grpc::SslCredentials(without_certificate), name)},
      {"another authority", TransportOf(others.Of("spiffe://prod/admin/root"))
                                ->Open(endpoint, security::AControlPlane())},
      {"another cell", ChannelOf("spiffe://test/admin/root")},
      {"a trial", ChannelOf("spiffe://trial/trial/t")},
  };
  for (const auto& [who, channel] : strangers) {
    for (const MethodDescriptor* method : MethodsOfAControlPlane()) {
      EXPECT_EQ(Call(channel, *method, RequestBytes(*method, "kv")).error_code(),
                grpc::StatusCode::UNAVAILABLE)
          << who << ": " << method->full_name();
    }
  }
}

TEST_F(MatrixTest, PeopleAreToldWhoTheyAreAndWhatTheyMay) {
  const auto stub = v1::Access::NewStub(ChannelOfPath("operator/app-owner"));
  v1::WhoAmIResponse who;
  grpc::ClientContext first, second, third;
  ASSERT_TRUE(stub->WhoAmI(&first, {}, &who).ok());
  EXPECT_EQ(who.identity(), "operator/app-owner");
  EXPECT_EQ(who.cell(), "prod");
  EXPECT_FALSE(who.insecure());
  ASSERT_EQ(who.roles_size(), 1);
  EXPECT_EQ(who.roles(0).role(), "app-owner");
  v1::CanIRequest can;
  can.set_call("Admin.ApplyApp");
  can.set_app("search");
  v1::CanIResponse answer;
  ASSERT_TRUE(stub->CanI(&second, can, &answer).ok());
  EXPECT_FALSE(answer.allowed());
  EXPECT_THAT(answer.reason(), HasSubstr("app-owner of app search"));
  can.set_identity("operator/admin");
  EXPECT_EQ(stub->CanI(&third, can, &answer).error_code(), grpc::StatusCode::PERMISSION_DENIED)
      << "what others may is for those who see all grants";
}

TEST_F(MatrixTest, WhoSeesAllGrantsMayAskAboutOthers) {
  const auto stub = v1::Access::NewStub(ChannelOfPath("operator/viewer"));
  const auto ask = [&](const std::string& call, const std::string& identity) {
    v1::CanIRequest can;
    can.set_call(call);
    can.set_app("kv");
    can.set_identity(identity);
    v1::CanIResponse answer;
    grpc::ClientContext context;
    const grpc::Status status = stub->CanI(&context, can, &answer);
    return status.ok() ? (answer.allowed() ? "yes" : "no") : status.error_message();
  };
  EXPECT_EQ(ask("Admin.ApplyApp", "operator/app-owner"), "yes");
  EXPECT_EQ(ask("Admin.ApplyApp", "operator/viewer"), "no");
  EXPECT_EQ(ask("ShardServer.AddShard", "control-plane/sm-1"), "yes");
  EXPECT_THAT(ask("Admin.ApplyApp", "alice"), HasSubstr("identity: found"));
  EXPECT_THAT(ask("Admin.Explode", ""), HasSubstr("no call"));
}

// Its certificate is enough: a record that cannot be read locks nobody out.
TEST_F(MatrixTest, WithoutThePolicyCertificatesCount) {
  ControlPlane standby(TransportOf(certs_.Of("spiffe://prod/control-plane/sm-3")),
                       [] { return absl::FailedPreconditionError("this process does not lead"); });
  const auto call = [&](const char* path) {
    v1::GetAppsResponse apps;
    grpc::ClientContext context;
    return v1::Admin::NewStub(TransportOf(certs_.Of(absl::StrCat("spiffe://prod/", path)))
                                  ->Open(standby.endpoint(), security::AControlPlane()))
        ->GetApps(&context, {}, &apps);
  };
  EXPECT_EQ(call("admin/root").error_code(), grpc::StatusCode::UNAVAILABLE) << "nobody leads";
  EXPECT_EQ(call("operator/viewer").error_message(), "this process does not lead");
  EXPECT_EQ(call("operator/viewer").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(InsecureCellTest, EverybodyMayAllAndIsToldSo) {
  ControlPlane control_plane(Transport::Insecure(), nullptr);
  const auto channel =
      Transport::Insecure()->Open(control_plane.endpoint(), security::AControlPlane());
  for (const MethodDescriptor* method : MethodsOfAControlPlane()) {
    EXPECT_FALSE(IsRefused(Call(channel, *method, RequestBytes(*method, "kv"))))
        << method->full_name();
  }
  v1::WhoAmIResponse who;
  grpc::ClientContext context;
  ASSERT_TRUE(v1::Access::NewStub(channel)->WhoAmI(&context, {}, &who).ok());
  EXPECT_TRUE(who.insecure());
  EXPECT_EQ(who.identity(), "");
}

}  // namespace
}  // namespace shardmanager::wire
