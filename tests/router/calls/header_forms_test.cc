// How requests say for whom they are: in one header to servers that understand it, in several to
// all others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/request_metadata.h"
#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

namespace meta = request_metadata;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Headers = std::map<std::string, std::string>;

// Ours, but for those that a request may have or not: its region, and the key of one in 64.
Headers HeadersOf(const grpc::ServerContext& context) {
  Headers headers;
  for (const auto& [key, value] : context.client_metadata()) {
    const std::string name(key.data(), key.size());
    if (name.starts_with("sm-") && name != meta::kRegion && name != meta::kKey) {
      headers.emplace(name, std::string(value.data(), value.size()));
    }
  }
  return headers;
}

class HeaderFormsTest : public EveryWayTest {
 protected:
  void SetUp() override { Publish(V(1), {0}, {1}); }

  // As a server of this version: an answer to several headers says that it understands one.
  EchoServer::Behaviour AsNew(grpc::Status status = grpc::Status::OK) {
    return [this, status](grpc::ServerContext& context) {
      seen_.push_back(HeadersOf(context));
      if (!seen_.back().contains(meta::kTo)) {
        context.AddTrailingMetadata(meta::kAdmitted, meta::kYesAndKnowsTo);
      } else if (!status.ok()) {
        context.AddTrailingMetadata(meta::kAdmitted, meta::kYes);
      }
      return status;
    };
  }
  // As one of an older version.
  EchoServer::Behaviour AsOld() {
    return [this](grpc::ServerContext& context) {
      seen_.push_back(HeadersOf(context));
      if (!seen_.back().contains(meta::kShard)) return EchoServer::Refuse(meta::kNoShard)(context);
      return EchoServer::Process()(context);
    };
  }
  Headers One() const { return {{meta::kTo, "p/kv/kv-1/a"}}; }
  Headers Several() const {
    return {
        {meta::kApp, "kv"}, {meta::kServer, "kv-1"}, {meta::kShard, "a"}, {meta::kRole, "primary"}};
  }

  std::vector<Headers> seen_;  // of one request at a time
};

TEST_P(HeaderFormsTest, AServerThatUnderstandsOneHeaderGetsOneFromThenOn) {
  one_.Do(AsNew());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  EXPECT_THAT(seen_, ElementsAre(Several(), One(), One()));
}

TEST_P(HeaderFormsTest, ANewMapDoesNotForgetIt) {
  one_.Do(AsNew());
  ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  PublishAndAwait(V(2), {0}, {0});
  ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  EXPECT_THAT(seen_, ElementsAre(Several(), One()));
}

TEST_P(HeaderFormsTest, OneHeaderSaysThatAnyReplicaMayAnswer) {
  one_.Do(AsNew());
  ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  ASSERT_TRUE(Say("apple", {.timeout = 60s, .any_replica = true}).status.ok());
  EXPECT_THAT(seen_.back(), ElementsAre(Pair(meta::kTo, "a/kv/kv-1/a")));
}

TEST_P(HeaderFormsTest, AnOlderServerGetsSeveralHeaders) {
  one_.Do(AsOld());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  EXPECT_THAT(seen_, ElementsAre(Several(), Several(), Several()));
}

TEST_P(HeaderFormsTest, AServerThatWasReplacedByAnOlderOneGetsSeveralAgain) {
  one_.Do(AsNew());
  ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  one_.Do(AsOld());
  seen_.clear();
  // A refused request was not processed, so it is sent again.
  ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  EXPECT_THAT(seen_, ElementsAre(One(), Several(), Several()));
}

// The one place where its absence would tell a lie: see kAdmitted.
TEST_P(HeaderFormsTest, AnErrorOfTheApplicationIsTheAnswerInBothForms) {
  one_.Do(AsNew({grpc::StatusCode::UNAVAILABLE, "of the application"}));
  for (int i = 0; i < 2; ++i) {
    const Result result = Say("apple", {.timeout = 60s, .idempotent = true});
    EXPECT_EQ(result.status.error_message(), "of the application");
  }
  EXPECT_THAT(seen_, ElementsAre(Several(), One()));
}

INSTANTIATE_TEST_SUITE_P(Ways, HeaderFormsTest, EveryWay(), NameOfWay);

class StreamHeaderTest : public HeaderFormsTest {};

TEST_P(StreamHeaderTest, AStreamThatAnOlderServerRefusesIsOpenedAgainWithSeveralHeaders) {
  one_.Do(AsNew());
  ASSERT_TRUE(Say("apple", {.timeout = 60s}).status.ok());
  one_.Do(AsOld());
  seen_.clear();
  auto client = router_->GetClient<Echo>("kv", "apple");
  std::optional<StreamContext> ended;
  for (;;) {
    auto bound = client.Bind({.timeout = 60s}, ended ? &*ended : nullptr);
    ASSERT_TRUE(bound.ok());
    ended = bound.NewContext();
    EchoRequest request;
    request.set_text("x");
    const auto reader = bound->Spell(ended->get(), request);
    EchoResponse response;
    while (reader->Read(&response)) {
    }
    const grpc::Status status = reader->Finish();
    if (status.ok()) break;
    ASSERT_TRUE(ended->ShouldReopen(status)) << status.error_message();
  }
  EXPECT_THAT(seen_, ElementsAre(One(), Several()));
}

INSTANTIATE_TEST_SUITE_P(Ways, StreamHeaderTest, ::testing::Values(Way::kBlocking), NameOfWay);

}  // namespace
}  // namespace shardmanager::router
