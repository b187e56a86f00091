// The connections to application servers: how many, with which arguments and credentials.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The client's end of each connection that requests came by.
class Peers {
 public:
  EchoServer::Behaviour Note() {
    return [this](grpc::ServerContext& context) {
      std::lock_guard lock(mutex_);
      peers_.insert(context.peer());
      return EchoServer::Process()(context);
    };
  }
  std::set<std::string> Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(peers_, {});
  }

 private:
  std::mutex mutex_;
  std::set<std::string> peers_;
};

class ChannelsTest : public EveryWayTest {
 protected:
  void SetUp() override { Publish(V(1), {0}, {1}); }

  RouterOptions Options() const {
    return {.discovery = {discovery_->endpoint()}, .security = {.insecure = true}};
  }
  Result SayWith(Router& router) const {
    return SayTo(router.GetClient<Echo>("kv", "apple"), {.timeout = 60s}, GetParam());
  }
  // The connections that so many calls came by.
  std::set<std::string> PeersOf(int calls, int channels_per_server) {
    Peers peers;
    one_.Do(peers.Note());
    RouterOptions options = Options();
    options.channels_per_server = channels_per_server;
    Router router(options);
    for (int i = 0; i < calls; ++i) EXPECT_TRUE(SayWith(router).status.ok());
    return peers.Take();
  }
};

TEST_P(ChannelsTest, ThereIsOneConnectionToAServerByDefault) {
  EXPECT_THAT(PeersOf(20, RouterOptions().channels_per_server), SizeIs(1));
}

TEST_P(ChannelsTest, CallsAreSpreadOverAsManyConnectionsAsAreAskedFor) {
  // That one of four is never drawn in 100 has a chance of 1 in 10^12.
  EXPECT_THAT(PeersOf(100, 4), SizeIs(4));
}

TEST_P(ChannelsTest, ANumberThatIsNotAllowedCountsAsTheNearestOneThatIs) {
  EXPECT_THAT(PeersOf(20, -1), SizeIs(1));
}

TEST_P(ChannelsTest, TheApplicationsArgumentsHold) {
  std::atomic<int> asked = 0;
  RouterOptions options = Options();
  options.channel_arguments = [&](grpc::ChannelArguments& arguments) {
    ++asked;
    arguments.SetMaxReceiveMessageSize(3);  // bytes: no response is so short
  };
  Router router(options);
  EXPECT_EQ(asked, 0);
  const Result result = SayWith(router);
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(result.status.error_message(), HasSubstr("larger than max"));
  EXPECT_EQ(asked, 1);
}

// gRPC's credentials for one machine: they need no certificates, and the context tells of them.
TEST_P(ChannelsTest, ServersAreConnectedToWithTheApplicationsCredentials) {
  EchoServer secured("kv-1", 0, grpc::experimental::LocalServerCredentials(LOCAL_TCP));
  hub_.Publish(kApp, MakeSnapshot(V(2), {{"kv-1", secured.endpoint(), ""}}, {{"a", "", {0}}}));
  RouterOptions options = Options();
  options.credentials = grpc::experimental::LocalCredentials(LOCAL_TCP);
  Router router(options);
  std::vector<std::string> security;
  const CallOptions call{.timeout = 60s, .inspect = [&](const grpc::ClientContext& context) {
                           for (const auto& value : context.auth_context()->FindPropertyValues(
                                    "transport_security_type")) {
                             security.emplace_back(value.data(), value.size());
                           }
                         }};
  const Result result = SayTo(router.GetClient<Echo>("kv", "apple"), call, GetParam());
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(security, ElementsAre("local"));
}

TEST_P(ChannelsTest, StreamsAreSpreadToo) {
  Peers peers;
  one_.Do(peers.Note());
  RouterOptions options = Options();
  options.channels_per_server = 2;
  Router router(options);
  auto client = router.GetClient<Echo>("kv", "apple");
  for (int i = 0; i < 60; ++i) {
    auto bound = client.Bind({.timeout = 60s});
    ASSERT_TRUE(bound.ok());
    StreamContext context = bound.NewContext();
    EchoRequest request;
    request.set_text("x");
    const auto reader = bound->Spell(context.get(), request);
    EchoResponse response;
    while (reader->Read(&response)) {
    }
    ASSERT_TRUE(reader->Finish().ok());
  }
  EXPECT_THAT(peers.Take(), SizeIs(2));
}

INSTANTIATE_TEST_SUITE_P(Ways, ChannelsTest, EveryWay(), NameOfWay);

}  // namespace
}  // namespace shardmanager::router
