// Who can connect to whom, with real connections.
#include "wire/transport.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/security/cell_certs.h"

namespace shardmanager::wire {
namespace {

using security::AControlPlane;
using security::AnOperator;
using security::AServerOf;
using security::Expected;
using security::kDay;
using shardmanager::testing::CellCerts;
using shardmanager::testing::NowSeconds;
using std::chrono::seconds;
using std::chrono::system_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<const Transport> TransportOf(const Security& security) {
  auto transport = Transport::Make(security, "", {security::Anybody()});
  EXPECT_TRUE(transport.ok()) << transport.status();
  return *std::move(transport);
}

// Answers each call with the caller's identity, or why it may not call.
class WhoCalls {
 public:
  WhoCalls(std::shared_ptr<const Transport> transport, const std::vector<Expected>& from,
           std::vector<Expected> may = {security::Anybody()})
      : service_(transport, std::move(may)) {
    grpc::ServerBuilder builder;
    auto port = transport->ListenAt("127.0.0.1:0", from, builder, &port_);
    builder.RegisterCallbackGenericService(&service_);
    serving_ = StartWith(std::move(port), builder);
    EXPECT_GT(port_, 0);
  }
  int port() const { return port_; }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Call(const grpc::Status& status) { Finish(status); }
    void OnDone() override { delete this; }
  };
  class Service final : public grpc::CallbackGenericService {
   public:
    Service(std::shared_ptr<const Transport> transport, std::vector<Expected> may)
        : transport_(std::move(transport)), may_(std::move(may)) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override {
      const absl::Status may = transport_->CheckCaller(*context, may_);
      if (!may.ok()) {
        return new Call({static_cast<grpc::StatusCode>(may.code()), std::string(may.message())});
      }
      // As an error, since there is no message.
      const auto caller =
          transport_->is_secure() ? transport_->CallerOf(*context) : absl::NotFoundError("");
      return new Call({grpc::StatusCode::ALREADY_EXISTS, caller.ok() ? ToUri(*caller) : "?"});
    }

   private:
    const std::shared_ptr<const Transport> transport_;
    const std::vector<Expected> may_;
  };

  Service service_;
  int port_ = 0;
  ServerAndPort serving_;
};

grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + seconds(20));
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> answer;
  stub.UnaryCall(&context, "/any/Method", {}, &request, &response,
                 [&](const grpc::Status& status) { answer.set_value(status); });
  return answer.get_future().get();
}

// Calls with this certificate, and expects `to`.
grpc::Status Call(const Security& security, const WhoCalls& server, const Expected& to) {
  return Call(TransportOf(security)->Open(server.endpoint(), to));
}

class TransportTest : public ::testing::Test {
 protected:
  CellCerts certs_{"prod"};
  const Security control_plane_ = certs_.Of("spiffe://prod/control-plane/sm-1");
  const Security server_ = certs_.Of("spiffe://prod/server/kv/kv-3");
  const Security other_app_ = certs_.Of("spiffe://prod/server/shop/shop-1");
};

TEST_F(TransportTest, BothSidesKnowWhoTheOtherOneIs) {
  const WhoCalls kv3(TransportOf(server_), {AControlPlane()});
  const grpc::Status status = Call(control_plane_, kv3, AServerOf("kv", "kv-3"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS) << status.error_message();
  EXPECT_EQ(status.error_message(), "spiffe://prod/control-plane/sm-1");
}

TEST_F(TransportTest, AnotherServerAtTheEndpointIsNotTalkedTo) {
  const WhoCalls kv3(TransportOf(server_), {AControlPlane()});
  const grpc::Status status = Call(control_plane_, kv3, AServerOf("kv", "kv-4"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr(kv3.endpoint()), HasSubstr("found spiffe://prod/server/kv/kv-3"),
                    HasSubstr("allowed: server kv-4 of app kv of cell prod")));
}

TEST_F(TransportTest, WhoIsNotExpectedCannotConnect) {
  const WhoCalls kv3(TransportOf(server_), {AControlPlane(), AServerOf("kv")});
  EXPECT_EQ(Call(other_app_, kv3, AServerOf("kv")).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TransportTest, ACallIsRefusedToThoseWhoMayConnectOnly) {
  const WhoCalls kv3(TransportOf(server_), {security::Anybody()}, {AControlPlane(), AnOperator()});
  const grpc::Status status = Call(other_app_, kv3, AServerOf("kv"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(),
            "found spiffe://prod/server/shop/shop-1; allowed: control-plane of cell prod, operator "
            "or admin of cell prod");
}

TEST_F(TransportTest, AnotherAuthorityIsNotBelieved) {
  CellCerts others("prod");
  const WhoCalls kv3(TransportOf(server_), {AControlPlane()});
  const Security stranger = others.Of("spiffe://prod/control-plane/sm-1");
  const grpc::Status status = Call(stranger, kv3, AServerOf("kv"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("spiffe://prod/server/kv/kv-3"));
}

TEST_F(TransportTest, ACertificateThatEndedIsNotBelievedAndTheDateIsSaid) {
  Security ended = certs_.Of("spiffe://prod/server/kv/kv-4");
  const WhoCalls kv4(TransportOf(ended), {AControlPlane()});
  // The process began with a good one, which was replaced by one that is over.
  certs_.Put(ended.certs, "spiffe://prod/server/kv/kv-4", NowSeconds() - 20 * kDay, 10 * kDay);
  const WhoCalls late(TransportOf(server_), {AControlPlane()});
  const auto control = TransportOf(control_plane_);
  grpc::Status status;
  const auto patience = system_clock::now() + seconds(30);
  do {  // until it was read again
    status = Call(control->Open(kv4.endpoint(), AServerOf("kv")));
  } while (status.error_code() == grpc::StatusCode::ALREADY_EXISTS &&
           system_clock::now() < patience);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("spiffe://prod/server/kv/kv-4"), HasSubstr("UTC")));
}

TEST_F(TransportTest, NobodyTalksInPlainTextToASecureOne) {
  const WhoCalls kv3(TransportOf(server_), {AControlPlane()});
  const grpc::Status status = Call(Transport::Insecure()->Open(kv3.endpoint(), AServerOf("kv")));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TransportTest, ASecureOneDoesNotTalkInPlainText) {
  const WhoCalls open(Transport::Insecure(), {});
  EXPECT_EQ(Call(server_, open, AServerOf("kv")).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TransportTest, WithoutSecurityEverybodyMayCall) {
  const WhoCalls open(Transport::Insecure(), {}, {AControlPlane()});
  EXPECT_EQ(Call(Transport::Insecure()->Open(open.endpoint(), AServerOf("kv"))).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
}

// ---- an open cell becomes a secure one

class MigrationTest : public TransportTest {
 protected:
  static std::shared_ptr<const Transport> At(Security security, Security::Migration step) {
    security.migration = step;
    return TransportOf(security);
  }
  // ALREADY_EXISTS: it was answered.
  static grpc::Status CallBy(const std::shared_ptr<const Transport>& client,
                             const WhoCalls& server) {
    return Call(client->Open(server.endpoint(), AServerOf("kv")));
  }
  const std::shared_ptr<const Transport> open_ = Transport::Insecure();
};

TEST_F(MigrationTest, AtEachStepAllReachThoseOfTheStepBeforeAndTheNext) {
  using Migration = Security::Migration;
  const auto steps = [this](const Security& security) {
    return std::vector<std::shared_ptr<const Transport>>{open_, At(security, Migration::kAccept),
                                                         At(security, Migration::kConnect),
                                                         At(security, Migration::kNone)};
  };
  const auto servers = steps(server_);
  const auto clients = steps(control_plane_);
  for (size_t s = 0; s < servers.size(); ++s) {
    const WhoCalls server(servers[s], {AControlPlane()}, {AControlPlane()});
    for (size_t c = 0; c < clients.size(); ++c) {
      const grpc::Status status = CallBy(clients[c], server);
      const bool adjacent = s + 1 >= c && c + 1 >= s;
      const bool reached = status.error_code() == grpc::StatusCode::ALREADY_EXISTS;
      EXPECT_TRUE(!adjacent || reached) << s << " by " << c << ": " << status.error_message();
    }
  }
}

TEST_F(MigrationTest, WhoHasACertificateIsStillWhoHeIs) {
  const WhoCalls server(At(server_, Security::Migration::kConnect), {security::Anybody()},
                        {AControlPlane()});
  EXPECT_EQ(CallBy(At(other_app_, Security::Migration::kConnect), server).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(CallBy(open_, server).error_code(), grpc::StatusCode::ALREADY_EXISTS)
      << "as in the open cell that it was";
}

TEST_F(MigrationTest, WhoSaysNothingHoldsNobodyUp) {
  const WhoCalls server(At(server_, Security::Migration::kAccept), {AControlPlane()});
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(silent.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(CallBy(open_, server).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(CallBy(At(control_plane_, Security::Migration::kConnect), server).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  for (const int connection : silent) close(connection);
}

TEST_F(MigrationTest, APortThatIsTakenIsAnError) {
  const WhoCalls first(open_, {});
  grpc::ServerBuilder builder;
  int port = 7;
  EXPECT_EQ(At(server_, Security::Migration::kAccept)
                ->ListenAt(first.endpoint(), {AControlPlane()}, builder, &port),
            nullptr);
  EXPECT_EQ(port, 0);
}

TEST_F(TransportTest, AProcessIsWhatItsCertificateSays) {
  const auto made = Transport::Make(server_, "prod", {AServerOf("kv", "kv-4")});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(made.status().message()),
              AllOf(HasSubstr("cert.pem"), HasSubstr("found spiffe://prod/server/kv/kv-3"),
                    HasSubstr("allowed: server kv-4 of app kv of cell prod")));
}

}  // namespace
}  // namespace shardmanager::wire
