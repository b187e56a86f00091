// CallOptions that reach into an attempt, and the calls out of a server's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using std::chrono::system_clock;
using ::testing::HasSubstr;

std::string ToText(grpc::string_ref text) { return {text.data(), text.size()}; }

class CallOptionsTest : public EveryWayTest {
 protected:
  void SetUp() override { PublishAndAwait(V(1), {0}, {1}); }
};

TEST_P(CallOptionsTest, EachAttemptIsPreparedAndTheAnswersMetadataIsSeen) {
  std::atomic<int> attempts = 0;
  one_.Do([&](grpc::ServerContext& context) {
    const auto found = context.client_metadata().find("x-attempt");
    EXPECT_NE(found, context.client_metadata().end());
    context.AddTrailingMetadata("x-seen", ToText(found->second));
    if (attempts < 3) return EchoServer::Refuse("loading")(context);
    context.AddInitialMetadata("x-initial", "yes");
    return EchoServer::Process()(context);
  });
  std::string seen;
  int inspected = 0;
  CallOptions options;
  options.prepare = [&](grpc::ClientContext& context) {
    context.AddMetadata("x-attempt", std::to_string(++attempts));
  };
  options.inspect = [&](const grpc::ClientContext& context) {
    ++inspected;
    EXPECT_EQ(context.GetServerInitialMetadata().count("x-initial"), 1u);
    seen = ToText(context.GetServerTrailingMetadata().find("x-seen")->second);
  };
  ASSERT_TRUE(Say("apple", options).status.ok());
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(seen, "3");
  EXPECT_EQ(inspected, 1) << "a refusal is no answer";
}

TEST_P(CallOptionsTest, AnErrorOfTheApplicationIsInspectedToo) {
  one_.Do(EchoServer::Answer({grpc::StatusCode::INTERNAL, "the disk is gone"}));
  int inspected = 0;
  CallOptions options;
  options.inspect = [&](const grpc::ClientContext&) { ++inspected; };
  EXPECT_EQ(Say("apple", options).status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(inspected, 1);
}

TEST_P(CallOptionsTest, ADeadlineHoldsInsteadOfTheTimeout) {
  one_.Do(EchoServer::Refuse("loading"));
  const Result soon = Say("apple", {.timeout = 60s, .deadline = system_clock::now() + 100ms});
  EXPECT_EQ(soon.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GE(soon.took, 90ms);
  EXPECT_LT(soon.took, 20s);
  EXPECT_EQ(Say("apple", {.deadline = system_clock::now() - 1s}).status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  auto late = SayLater("apple", {.timeout = 0ms, .deadline = system_clock::now() + 60s});
  ASSERT_TRUE(one_.AwaitRequests(10));
  one_.Do(EchoServer::Process());
  EXPECT_TRUE(late.get().status.ok());
}

TEST_P(CallOptionsTest, AnEndlessDeadlineIsOne) {
  EXPECT_TRUE(Say("apple", {.deadline = system_clock::time_point::max()}).status.ok());
  EXPECT_TRUE(Say("apple", {.timeout = std::chrono::milliseconds::max()}).status.ok());
}

// A server that calls the sharded service for each request.
class CallOutOfAServerTest : public CallOptionsTest {
 protected:
  // Calls it, as a client does. `in_server` is what it got itself.
  grpc::Status Ask(grpc::ClientContext& context, CallOptions options,
                   std::promise<Result>& in_server) {
    front_.Do([this, options, &in_server](grpc::ServerContext& server) {
      CallOptions out = options;
      out.parent = &server;
      in_server.set_value(Say("apple", out));
      return grpc::Status::OK;
    });
    EchoResponse response;
    return Echo::NewStub(grpc::CreateChannel(front_.endpoint(), grpc::InsecureChannelCredentials()))
        ->Say(&context, EchoRequest(), &response);
  }

  EchoServer front_{"front"};
};

TEST_P(CallOutOfAServerTest, ItsDeadlineIsTheServersOwn) {
  one_.Do(EchoServer::Refuse("loading"));
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + 200ms);
  std::promise<Result> in_server;
  Ask(context, {.timeout = 60s}, in_server);
  const Result result = in_server.get_future().get();
  EXPECT_THAT(result.status.error_code(),
              ::testing::AnyOf(grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::CANCELLED));
  EXPECT_LT(result.took, 20s);
}

TEST_P(CallOutOfAServerTest, WithoutADeadlineOfTheServersItsOwnHolds) {
  one_.Do(EchoServer::Refuse("loading"));
  grpc::ClientContext context;
  std::promise<Result> in_server;
  EXPECT_TRUE(Ask(context, {.timeout = 100ms}, in_server).ok());
  EXPECT_EQ(in_server.get_future().get().status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_P(CallOutOfAServerTest, ItEndsWhenTheServersCallIsCancelled) {
  for (bool hangs : {true, false}) {  // else it waits between attempts
    one_.Do(hangs ? one_.Hang() : EchoServer::Refuse("loading"));
    const int before = one_.requests();
    grpc::ClientContext context;
    std::promise<Result> in_server;
    auto asked =
        std::async(std::launch::async, [&] { return Ask(context, {.timeout = 60s}, in_server); });
    ASSERT_TRUE(one_.AwaitRequests(before + (hangs ? 1 : 5)));
    context.TryCancel();
    EXPECT_EQ(asked.get().error_code(), grpc::StatusCode::CANCELLED);
    const Result result = in_server.get_future().get();
    EXPECT_EQ(result.status.error_code(), grpc::StatusCode::CANCELLED)
        << result.status.error_message();
    EXPECT_THAT(result.status.error_message(), HasSubstr("the call was cancelled"));
  }
}

TEST_P(CallOutOfAServerTest, ItEndsWhenItWaitsForAShardToBeServedToo) {
  PublishAndAwait(V(2), {}, {1});
  grpc::ClientContext context;
  std::promise<Result> in_server;
  auto asked =
      std::async(std::launch::async, [&] { return Ask(context, {.timeout = 60s}, in_server); });
  ASSERT_TRUE(front_.AwaitRequests(1));
  context.TryCancel();
  EXPECT_EQ(in_server.get_future().get().status.error_code(), grpc::StatusCode::CANCELLED);
  asked.get();
}

INSTANTIATE_TEST_SUITE_P(Ways, CallOptionsTest, EveryWay(), NameOfWay);
INSTANTIATE_TEST_SUITE_P(Ways, CallOutOfAServerTest, EveryWay(), NameOfWay);

}  // namespace
}  // namespace shardmanager::router
