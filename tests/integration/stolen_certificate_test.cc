// What somebody can do who has stolen a server's certificate and its key. With real processes.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "kv.grpc.pb.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "shardmanager/v1/shard_server.grpc.pb.h"
#include "shardmanager/v1/transfer.grpc.pb.h"
#include "tests/local_cluster/ports.h"
#include "tests/support/cluster_fixture.h"
#include "tests/wire/access/any_call.h"
#include "tests/wire/access/role_table.h"
#include "wire/transport.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kShards = 6;

// A cell in which each process has a certificate of its own, made with shardctl.
class StolenCertificateTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    Certs({"init", "--cell", "local"});
    Certs({"issue", "control-plane/shardmanagerd", "relay/shard-discoveryd", "admin/test",
           "server/kv/kv-1", "server/kv/kv-2", "server/kv/kv-4", "server/shop/shop-1",
           "client/kv/test", "client/shop/test"});
    const auto flags = [this](const std::string& who) {
      return std::vector<std::string>{"--certs", Folder(who)};
    };
    SM_ASSERT_OK(cluster_->security().Change(flags, {.certs = Folder("admin/test")}));
    SM_ASSERT_OK(cluster_->StartCore());
    for (const std::string name : {"kv-1", "kv-2"}) {
      SM_ASSERT_OK(cluster_->StartServer({.name = name, .rack = name, .listen = EndpointOf(name)}));
    }
    SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(kShards)).status());
    map_ = cluster_->WatchMap();
    client_ = std::make_unique<KvClient>(cluster_->discovery_endpoint(), "kv", "",
                                         Security{.certs = Folder("client/kv/test")});
    SM_ASSERT_OK(client_->WaitReady(kPatience));
    ASSERT_TRUE(map_->WaitFor([](const MapView& v) { return v.all_served(); }, kPatience));
  }

  std::string Folder(const std::string& who) const {
    return absl::StrCat(cluster_->folder(), "/certificates/", who);
  }
  void Certs(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "certs");
    arguments.insert(arguments.end(), {"--folder", cluster_->folder() + "/certificates"});
    const auto made = cluster_->Shardctl(arguments);
    EXPECT_EQ(made.exit_code, 0) << made.output;
  }
  const std::string& EndpointOf(const std::string& server) const { return endpoints_.at(server); }

  // kv-4, from which shards can be copied. Once it listens.
  absl::Status StartLocalServer() {
    const std::vector<std::string> program = {cluster_->Bin("kvstore"), "--storage", "local"};
    absl::Status started = cluster_->StartServer(
        {.name = "kv-4", .rack = "kv-4", .program = program, .listen = EndpointOf("kv-4")});
    if (!started.ok()) return started;
    const auto channel = As("client/kv/test", EndpointOf("kv-4"), security::AServerOf("kv"));
    const bool listens = channel->WaitForConnected(std::chrono::system_clock::now() + kPatience);
    return listens ? absl::OkStatus() : absl::UnavailableError(cluster_->server("kv-4").Log());
  }
  // A shard of kv-4, that nobody has.
  static v1::TransferHeader TransferTo(const std::string& taker) {
    v1::TransferHeader header;
    header.set_server("kv-4");
    header.set_shard("no-such-shard");
    header.set_epoch(1);
    header.set_taker_endpoint("127.0.0.1:1");
    header.set_taker(taker);
    return header;
  }

  // To `endpoint`, as whoever has this certificate, expecting this.
  std::shared_ptr<grpc::Channel> As(const std::string& who, const std::string& endpoint,
                                    const security::Expected& expected) const {
    const auto transport = wire::Transport::Make({.certs = Folder(who)}, "", {security::Anybody()});
    EXPECT_TRUE(transport.ok()) << transport.status();
    return (*transport)->Open(endpoint, expected);
  }
  std::shared_ptr<grpc::Channel> Thief(const std::string& endpoint,
                                       const security::Expected& expected) const {
    return As("server/kv/kv-1", endpoint, expected);
  }

  template <typename Stub, typename Request, typename Response>
  static grpc::Status Call(Stub& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    Response response;
    return (stub.*method)(&context, request, &response);
  }

  const std::map<std::string, std::string> endpoints_ = {
      {"kv-1", absl::StrCat("127.0.0.1:", local::StablePort())},
      {"kv-2", absl::StrCat("127.0.0.1:", local::StablePort())},
      {"kv-4", absl::StrCat("127.0.0.1:", local::StablePort())}};
};

TEST_F(StolenCertificateTest, EverybodyElseGoesOn) {
  const KvAnswer put = client_->Put("key", "value");
  ASSERT_TRUE(put.status.ok()) << put.status;
  EXPECT_EQ(client_->Get("key").value, "value");
}

TEST_F(StolenCertificateTest, CommandsNobody) {
  const auto stub = v1::ShardServer::NewStub(Thief(EndpointOf("kv-2"), security::AServerOf("kv")));
  v1::CollectLoadRequest collect;
  const grpc::Status asked = Call(*stub, &v1::ShardServer::Stub::CollectLoad, collect);
  EXPECT_EQ(asked.error_code(), grpc::StatusCode::PERMISSION_DENIED) << asked.error_message();
  EXPECT_THAT(asked.error_message(), AllOf(HasSubstr("found spiffe://local/server/kv/kv-1"),
                                           HasSubstr("allowed: control-plane of cell local")));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::DropShardRequest drop;
  drop.mutable_header()->set_app("kv");
  drop.mutable_header()->set_server("kv-2");
  const auto stream = stub->DropShard(&context, drop);
  v1::ShardResults results;
  EXPECT_FALSE(stream->Read(&results));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

// It may read as the server whose certificate it is, but not as any other, to which a shard is
// being handed over.
TEST_F(StolenCertificateTest, TakesNoShardInTheNameOfAnotherServer) {
  SM_ASSERT_OK(StartLocalServer());
  const auto channel = Thief(EndpointOf("kv-4"), security::AServerOf("kv"));
  const auto stub = v1::ShardTransfer::NewStub(channel);
  v1::ClaimShardRequest claim;
  *claim.mutable_header() = TransferTo("kv-3");
  const grpc::Status forged = Call(*stub, &v1::ShardTransfer::Stub::ClaimShard, claim);
  EXPECT_EQ(forged.error_code(), grpc::StatusCode::PERMISSION_DENIED) << forged.error_message();
  EXPECT_THAT(forged.error_message(), AllOf(HasSubstr("found spiffe://local/server/kv/kv-1"),
                                            HasSubstr("allowed: server kv-3 of app kv")));
  *claim.mutable_header() = TransferTo("kv-1");
  const grpc::Status own = Call(*stub, &v1::ShardTransfer::Stub::ClaimShard, claim);
  EXPECT_TRUE(own.ok()) << own.error_message();
}

// As the table in docs/security-roles.md has it: calls of a server by everybody who is let in, and
// none by those who are not. (Those of a control plane: roles_matrix_test.)
TEST_F(StolenCertificateTest, EachCallOfAServerIsAllowedOrRefusedAsTheTableSays) {
  SM_ASSERT_OK(StartLocalServer());
  const auto table = wire::TableOfTheDocument();
  const std::map<std::string, std::string> column = {
      {"admin/test", "admin"},
      {"control-plane/shardmanagerd", "control-plane"},
      {"relay/shard-discoveryd", "relay"},
      {"server/kv/kv-1", "server"},
      {"server/shop/shop-1", "server"},
      {"client/kv/test", "client"},
      {"client/shop/test", "client"}};
  int allowed = 0;
  for (const auto& [who, role] : column) {
    const auto channel = As(who, EndpointOf("kv-4"), security::AServerOf("kv"));
    v1::OpenTransferRequest transfer;  // of all calls the header is the first field
    *transfer.mutable_header() = TransferTo(who.substr(who.rfind('/') + 1));
    for (const auto* file :
         {v1::CommandHeader::descriptor()->file(), v1::TransferHeader::descriptor()->file()}) {
      const auto& service = *file->service(0);
      const bool is_transfer = service.name() == "ShardTransfer";
      for (int m = 0; m < service.method_count(); ++m) {
        const std::string call = absl::StrCat(service.name(), ".", service.method(m)->name());
        const std::string& cell = table.at(call).at(role);
        const bool may = cell == "yes" || (cell == "of the same app" && who == "server/kv/kv-1");
        const grpc::Status status = wire::Call(channel, *service.method(m),
                                               is_transfer ? transfer.SerializeAsString() : "");
        const bool refused =
            wire::IsRefused(status) || status.error_code() == grpc::StatusCode::UNAVAILABLE;
        EXPECT_EQ(refused, !may) << call << " by " << who << ": " << status.error_code() << " "
                                 << status.error_message();
        allowed += may ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(allowed, 13) << "eight commands, five calls of a transfer";
}

TEST_F(StolenCertificateTest, IsNotLetIntoAnotherApp) {
  const auto stub = kv::KeyValue::NewStub(
      As("server/shop/shop-1", EndpointOf("kv-2"), security::AServerOf("kv")));
  kv::GetRequest get;
  get.set_key("key");
  EXPECT_EQ(Call(*stub, &kv::KeyValue::Stub::Get, get).error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto client =
      kv::KeyValue::NewStub(As("client/shop/test", EndpointOf("kv-2"), security::AServerOf("kv")));
  EXPECT_EQ(Call(*client, &kv::KeyValue::Stub::Get, get).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(cluster_->server("kv-2").Log(),
              HasSubstr("a connection is refused: found spiffe://"));
}

TEST_F(StolenCertificateTest, IsNoOtherServer) {
  // A process with its files under another name does not start.
  local::Program impostor("impostor",
                          {cluster_->Bin("kvstore"), "--name", "kv-2", "--cell", "local",
                           "--zookeeper", cluster_->zookeeper_endpoint(), "--data",
                           cluster_->data_folder(), "--certs", Folder("server/kv/kv-1")},
                          cluster_->folder());
  SM_ASSERT_OK(impostor.Start());
  EXPECT_EQ(impostor.Wait(kPatience), 1);
  EXPECT_THAT(impostor.Log(), AllOf(HasSubstr("ServerOptions.security"),
                                    HasSubstr("found spiffe://local/server/kv/kv-1"),
                                    HasSubstr("allowed: server kv-2 of app kv of cell local")));
  // Nor a control plane.
  local::Program plane("plane",
                       {cluster_->Bin("shardmanagerd"), "--cell", "local", "--zookeeper",
                        cluster_->zookeeper_endpoint(), "--listen", "127.0.0.1:0", "--certs",
                        Folder("server/kv/kv-1")},
                       cluster_->folder());
  SM_ASSERT_OK(plane.Start());
  EXPECT_EQ(plane.Wait(kPatience), 2);
  EXPECT_THAT(plane.Log(), HasSubstr("allowed: control-plane of cell local"));
}

TEST_F(StolenCertificateTest, WithoutOneNobodyIsTalkedTo) {
  const auto plain = [](const std::string& endpoint) {
    return wire::Transport::Insecure()->Open(endpoint, security::Anybody());
  };
  const auto kv = kv::KeyValue::NewStub(plain(EndpointOf("kv-1")));
  EXPECT_EQ(Call(*kv, &kv::KeyValue::Stub::Get, kv::GetRequest()).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  const auto admin = v1::Admin::NewStub(plain(cluster_->admin_endpoint()));
  EXPECT_EQ(Call(*admin, &v1::Admin::Stub::GetApps, v1::GetAppsRequest()).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

// Secrets stay in their files: no log of any process has a line of a key, nor has what `ps` shows
// of it, nor the error about a key that cannot be read.
TEST_F(StolenCertificateTest, KeysAreNowhereToBeSeen) {
  std::string logs = cluster_->Logs(100'000) + cluster_->Shardctl({"describe", "app", "kv"}).output;
  for (const local::Program* program :
       {&cluster_->control_plane(), &cluster_->discovery(), &cluster_->server("kv-1")}) {
    for (const char* file : {"cmdline", "environ"}) {
      std::ifstream in(absl::StrCat("/proc/", program->pid(), "/", file));
      logs.append(std::istreambuf_iterator<char>(in), {});
    }
  }
  ASSERT_THAT(logs, HasSubstr("--certs"));
  const std::string key = Folder("admin/test") + "/key.pem";
  local::Program torn("torn",
                      {cluster_->Bin("shardctl"), "get", "apps", "--tls-ca", key, "--tls-cert", key,
                       "--tls-key", Folder("admin/test") + "/cert.pem"},
                      cluster_->folder());
  SM_ASSERT_OK(torn.Start());
  EXPECT_NE(torn.Wait(kPatience), 0);
  EXPECT_THAT(torn.Log(), HasSubstr("key.pem")) << "the error names the file";
  logs += torn.Log();
  int keys = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Folder(""))) {
    if (entry.path().filename() != "key.pem" && entry.path().filename() != "ca-key.pem") continue;
    ++keys;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("-----")) continue;
      EXPECT_THAT(logs, ::testing::Not(HasSubstr(line)));
    }
  }
  EXPECT_EQ(keys, 10);
}

}  // namespace
}  // namespace shardmanager::testing
