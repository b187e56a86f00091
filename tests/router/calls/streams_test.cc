// Streams to the server that holds a key: Client::Bind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/coordination/tcp_proxy.h"
#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using std::chrono::system_clock;
using ::testing::HasSubstr;

class StreamsTest : public RouterFixture {
 protected:
  void SetUp() override { PublishAndAwait(V(1), {0}, {1}); }

  Bound<Echo> Bind(const std::string& key, const CallOptions& options = {},
                   const StreamContext* ended = nullptr) {
    return router_->GetClient<Echo>("kv", key).Bind(options, ended);
  }
};

EchoRequest Text(const std::string& text) {
  EchoRequest request;
  request.set_text(text);
  return request;
}

// A conversation that is under way: one message was answered.
class Talking {
 public:
  explicit Talking(const Bound<Echo>& bound) : context_(bound.NewContext()) {
    stream_ = bound->Talk(context_.get());
  }
  // Who answered; "": nobody.
  std::string Say() {
    EchoResponse response;
    const bool answered = stream_->Write(Text("hello")) && stream_->Read(&response);
    return answered ? response.server() : "";
  }
  // Until the stream ends by itself.
  grpc::Status AwaitEnd() {
    for (EchoResponse response; stream_->Read(&response);) {
    }
    return stream_->Finish();
  }
  grpc::Status End() {
    stream_->WritesDone();
    return AwaitEnd();
  }
  const StreamContext& context() const { return context_; }

 private:
  StreamContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<EchoRequest, EchoResponse>> stream_;
};

TEST_F(StreamsTest, StreamsOfAllKindsReachTheServerOfTheirKeyAndSayForWhomTheyAre) {
  const Bound<Echo> bound = Bind("zebra");
  ASSERT_TRUE(bound.ok()) << bound.status().error_message();
  EXPECT_EQ(bound.shard(), "b");
  EXPECT_EQ(bound.server(), "kv-2");
  EXPECT_EQ(bound.endpoint(), two_.endpoint());
  {
    const StreamContext context = bound.NewContext();
    const auto reader = bound->Spell(context.get(), Text("abc"));
    std::string letters;
    for (EchoResponse response; reader->Read(&response);) {
      letters += response.text();
      EXPECT_EQ(response.app(), "kv");
      EXPECT_EQ(response.meant_server(), "kv-2");
      EXPECT_EQ(response.shard(), "b");
    }
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok());
    EXPECT_FALSE(context.ShouldReopen(status));
    EXPECT_EQ(letters, "abc");
  }
  {
    const StreamContext context = bound.NewContext();
    EchoResponse response;
    const auto writer = bound->Join(context.get(), &response);
    EXPECT_TRUE(writer->Write(Text("a")) && writer->Write(Text("b")) && writer->WritesDone());
    EXPECT_TRUE(writer->Finish().ok());
    EXPECT_EQ(response.text(), "ab");
  }
  {
    Talking talking(bound);
    EXPECT_EQ(talking.Say(), "kv-2");
    EXPECT_EQ(talking.Say(), "kv-2");
    EXPECT_TRUE(talking.End().ok());
  }
}

// The escape hatch: anything that a stub does.
TEST_F(StreamsTest, ACallbackStreamWorksToo) {
  class Speller final : public grpc::ClientReadReactor<EchoResponse> {
   public:
    explicit Speller(const Bound<Echo>& bound) : context_(bound.NewContext()) {
      bound->async()->Spell(context_.get(), &request_, this);
      StartRead(&response_);
      StartCall();
    }
    std::future<std::string> letters() { return promise_.get_future(); }

   private:
    void OnReadDone(bool ok) override {
      if (!ok) return;
      letters_ += response_.text();
      StartRead(&response_);
    }
    void OnDone(const grpc::Status& status) override {
      promise_.set_value(status.ok() ? letters_ : status.error_message());
    }

    StreamContext context_;
    EchoRequest request_ = Text("xyz");
    EchoResponse response_;
    std::string letters_;
    std::promise<std::string> promise_;
  };
  Speller speller(Bind("apple"));
  EXPECT_EQ(speller.letters().get(), "xyz");
}

// ---- when it is to be opened again ----

TEST_F(StreamsTest, AStreamThatIsRefusedIsOpenedAgainElsewhere) {
  one_.Do(EchoServer::Refuse("not-owner"));
  Talking refused(Bind("apple"));
  EXPECT_EQ(refused.Say(), "");
  ASSERT_TRUE(refused.context().ShouldReopen(refused.AwaitEnd()));
  Publish(V(2), {1}, {1});
  const Bound<Echo> bound = Bind("apple", {.timeout = 20s}, &refused.context());
  ASSERT_TRUE(bound.ok()) << bound.status().error_message();
  // The pause may be over before the map is there: then it is refused once more.
  ASSERT_TRUE(Eventually([&] { return Talking(Bind("apple")).Say() == "kv-2"; }));
}

TEST_F(StreamsTest, AStreamWhoseShardGoesToAnotherServerIsEndedAndOpenedThere) {
  Talking talking(Bind("apple"));
  ASSERT_EQ(talking.Say(), "kv-1");
  Publish(V(2), {1}, {1});
  const grpc::Status status = talking.AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(talking.context().ShouldReopen(status));
  const Bound<Echo> bound = Bind("apple", {}, &talking.context());
  ASSERT_TRUE(bound.ok()) << bound.status().error_message();
  Talking again(bound);
  EXPECT_EQ(again.Say(), "kv-2");
  EXPECT_TRUE(again.End().ok());
}

TEST_F(StreamsTest, AStreamWhoseShardStaysIsLeftAlone) {
  Talking talking(Bind("apple"));
  ASSERT_EQ(talking.Say(), "kv-1");
  PublishAndAwait(V(2), {0}, {2});
  PublishAndAwait(V(3), {0, 1}, {1});
  EXPECT_EQ(talking.Say(), "kv-1");
  EXPECT_TRUE(talking.End().ok());
}

TEST_F(StreamsTest, AStreamToThePrimaryEndsWhenTheServerIsThePrimaryNoLonger) {
  for (const bool any_replica : {false, true}) {
    const uint64_t v = any_replica ? 4 : 2;
    PublishAndAwait(V(v), {0}, {1});
    Talking talking(Bind("apple", {.any_replica = any_replica}));
    ASSERT_EQ(talking.Say(), "kv-1");
    PublishAndAwait(V(v + 1), {0}, {1}, v1::SECONDARY);
    if (any_replica) {
      EXPECT_EQ(talking.Say(), "kv-1");
      EXPECT_TRUE(talking.End().ok());
    } else {
      EXPECT_TRUE(talking.context().ShouldReopen(talking.AwaitEnd()));
    }
  }
}

TEST_F(StreamsTest, AStreamOnAnOldBindingEndsAtOnceAndIsOpenedAgain) {
  const Bound<Echo> bound = Bind("apple");
  PublishAndAwait(V(2), {1}, {1});
  Talking talking(bound);
  EXPECT_EQ(talking.Say(), "");
  EXPECT_TRUE(talking.context().ShouldReopen(talking.AwaitEnd()));
}

TEST_F(StreamsTest, AStreamWhoseConnectionBreaksIsOpenedAgain) {
  TcpProxy proxy(one_.port());
  hub_.Publish(kApp, MakeSnapshot(V(2), {{"kv-1", "127.0.0.1:" + std::to_string(proxy.port()), ""}},
                                  {{"a", "", {0}}}));
  ASSERT_TRUE(Eventually([&] { return Bind("apple").endpoint() != one_.endpoint(); }));
  Talking talking(Bind("apple"));
  ASSERT_EQ(talking.Say(), "kv-1");
  proxy.Set(TcpProxy::Mode::kCut);
  const grpc::Status status = talking.AwaitEnd();
  EXPECT_TRUE(talking.context().ShouldReopen(status)) << status.error_message();
}

TEST_F(StreamsTest, AStreamOfAServerThatStopsIsOpenedAgain) {
  auto stopping = std::make_unique<EchoServer>("kv-1");
  hub_.Publish(kApp, MakeSnapshot(V(2), {{"kv-1", stopping->endpoint(), ""}}, {{"a", "", {0}}}));
  ASSERT_TRUE(Eventually([&] { return Bind("apple").endpoint() == stopping->endpoint(); }));
  Talking talking(Bind("apple"));
  ASSERT_EQ(talking.Say(), "kv-1");
  stopping.reset();
  const grpc::Status status = talking.AwaitEnd();
  EXPECT_TRUE(talking.context().ShouldReopen(status))
      << status.error_code() << " " << status.error_message();
}

TEST_F(StreamsTest, WhatTheApplicationSaysIsItsAnswer) {
  for (grpc::StatusCode code : {grpc::StatusCode::CANCELLED, grpc::StatusCode::ABORTED,
                                grpc::StatusCode::INTERNAL, grpc::StatusCode::NOT_FOUND}) {
    one_.Do(EchoServer::Answer({code, "what it says"}));
    Talking talking(Bind("apple"));
    EXPECT_EQ(talking.Say(), "");
    const grpc::Status status = talking.AwaitEnd();
    EXPECT_EQ(status.error_code(), code);
    EXPECT_FALSE(talking.context().ShouldReopen(status));
  }
  // As a server ends a stream whose shard has moved away under it.
  one_.Do(EchoServer::Answer({grpc::StatusCode::UNAVAILABLE, "refused: not-owner"}));
  Talking talking(Bind("apple"));
  EXPECT_EQ(talking.Say(), "");
  EXPECT_TRUE(talking.context().ShouldReopen(talking.AwaitEnd()));
}

TEST_F(StreamsTest, WhoIsRefusedAgainAndAgainWaitsForLongerAndLonger) {
  router_.emplace(RouterOptions{
      .discovery = {discovery_->endpoint()}, .security = {.insecure = true}, .retry_share = 0});
  one_.Do(EchoServer::Refuse("loading"));
  std::optional<Talking> last;
  grpc::Status held_back;
  for (int i = 0; held_back.ok(); ++i) {
    ASSERT_LT(i, 1'000) << "100 attempts were saved, and 10 come each second";
    // Who is held back waits for 500 ms at least.
    const Bound<Echo> bound = Bind("apple", {.timeout = 400ms}, last ? &last->context() : nullptr);
    held_back = bound.status();
    if (!bound.ok()) break;
    last.emplace(bound);
    EXPECT_EQ(last->Say(), "");
    ASSERT_TRUE(last->context().ShouldReopen(last->AwaitEnd()));
  }
  EXPECT_EQ(router_->stats().held_back, 1u);
  EXPECT_EQ(held_back.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(held_back.error_message(),
              HasSubstr("kv-1 (" + one_.endpoint() + ") refused: loading"));
}

// ---- binding ----

TEST_F(StreamsTest, BindWaitsForAMapAndForAServer) {
  router_.emplace(
      RouterOptions{.discovery = {discovery_->endpoint()}, .security = {.insecure = true}});
  EXPECT_TRUE(Bind("apple", {.timeout = 20s}).ok());
  PublishAndAwait(V(2), {}, {1});
  auto bound = std::async(std::launch::async, [&] { return Bind("apple", {.timeout = 20s}); });
  ASSERT_TRUE(Eventually([&] { return router_->stats().calls >= 2; }));
  Publish(V(3), {1}, {1});
  EXPECT_EQ(bound.get().server(), "kv-2");
}

TEST_F(StreamsTest, BindFailsAsACallDoes) {
  PublishAndAwait(V(2), {2}, {});
  const Bound<Echo> nobody = Bind("zebra", {.timeout = 50ms});
  EXPECT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.status().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(nobody.status().error_message(), HasSubstr("no server serves it in map 1.2"));
  const Bound<Echo> dead = Bind("apple", {.timeout = 50ms});
  EXPECT_THAT(dead.status().error_message(), HasSubstr("cannot be connected to"));
  EXPECT_EQ(router_->GetClientForShard<Echo>("kv", ShardId("c")).Bind().status().error_code(),
            grpc::StatusCode::NOT_FOUND);
  Router without({});
  EXPECT_EQ(without.GetClient<Echo>("kv", "apple").Bind({.timeout = 60s}).status().error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(StreamsTest, TheTimeoutIsForBindingAndTheDeadlineForTheStreamToo) {
  CallOptions options{.timeout = 10s};
  options.prepare = [](grpc::ClientContext& context) { context.AddMetadata("x-user", "ann"); };
  one_.Do([](grpc::ServerContext& context) {
    EXPECT_EQ(context.client_metadata().count("x-user"), 1u);
    return EchoServer::Process()(context);
  });
  const Bound<Echo> bound = Bind("apple", options);
  EXPECT_GT(bound.NewContext()->deadline(), system_clock::now() + 24h);
  Talking talking(bound);
  EXPECT_EQ(talking.Say(), "kv-1");
  EXPECT_TRUE(talking.End().ok());
  one_.Do(EchoServer::Process());
  Talking brief(Bind("apple", {.deadline = system_clock::now() + 300ms}));
  EXPECT_EQ(brief.Say(), "kv-1");
  const grpc::Status status = brief.AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_FALSE(brief.context().ShouldReopen(status));
}

TEST_F(StreamsTest, AStreamOutOfAServersCallEndsWithIt) {
  EchoServer front("front");
  std::promise<void> talks;
  std::promise<grpc::Status> ended;
  front.Do([&](grpc::ServerContext& context) {
    Talking talking(Bind("apple", {.parent = &context}));
    EXPECT_EQ(talking.Say(), "kv-1");
    talks.set_value();
    const grpc::Status status = talking.AwaitEnd();
    EXPECT_FALSE(talking.context().ShouldReopen(status));
    ended.set_value(status);
    return grpc::Status::OK;
  });
  grpc::ClientContext context;
  auto asked = std::async(std::launch::async, [&] {
    EchoResponse response;
    return Echo::NewStub(grpc::CreateChannel(front.endpoint(), grpc::InsecureChannelCredentials()))
        ->Say(&context, EchoRequest(), &response);
  });
  talks.get_future().wait();
  context.TryCancel();
  EXPECT_EQ(ended.get_future().get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(asked.get().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace shardmanager::router
