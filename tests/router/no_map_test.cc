// What a call says for which no shard map comes, and what it does not wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "router/map_file.h"
#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NoMapTest : public EveryWayTest {
 protected:
  v1::MapSnapshot MapOf(const std::string& cell, uint64_t sequence) const {
    v1::MapSnapshot whole =
        MakeSnapshot(V(sequence), {{one_.name(), one_.endpoint(), ""}}, {{"a", "", {0}}});
    whole.set_cell(cell);
    return whole;
  }
  Result SayIn(Router& router, const CallOptions& options = {.timeout = 60s}) const {
    return SayTo(router.GetClient<Echo>("kv", "apple"), options, GetParam());
  }
  void ExpectFailsAtOnce(Router& router, const ::testing::Matcher<std::string>& message,
                         absl::StatusCode code = absl::StatusCode::kFailedPrecondition) const {
    const Result result = SayIn(router);
    EXPECT_EQ(result.status.error_code(), static_cast<grpc::StatusCode>(code));
    EXPECT_THAT(result.status.error_message(), message);
    EXPECT_LT(result.took, 20s);
    for (const absl::Status& status :
         {router.WaitReady("kv", 60s), router.Resolve("kv", "apple", 60s).status(),
          router.Scan("kv", "", "", 60s).status()}) {
      EXPECT_EQ(status.code(), code);
      EXPECT_THAT(std::string(status.message()), message);
    }
  }

  void TearDown() override {
    router_.reset();
    discovery_.reset();  // before other_ goes
  }

  Hub other_;
  const std::string folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("no_map_test_" + std::to_string(getpid()) + "_" + ToString(GetParam()));
};

TEST_P(NoMapTest, WithoutDiscoveryItFailsAtOnce) {
  Router router({});
  ExpectFailsAtOnce(router, HasSubstr("kv: RouterOptions::discovery is empty"));
}

TEST_P(NoMapTest, WithoutDiscoveryAKeptMapIsWaitedForAndUsed) {
  std::filesystem::create_directories(folder_);
  {
    Router router({.security = {.insecure = true}, .map_cache = folder_});
    ExpectFailsAtOnce(router, AllOf(HasSubstr("RouterOptions::discovery is empty"),
                                    HasSubstr("and none is kept")));
  }
  v1::CachedMap kept;
  kept.set_app("kv");
  *kept.mutable_map() = MapOf("prod@1", 1);
  ASSERT_TRUE(WriteMapFile(folder_ + "/kv.map", kept).ok());
  Router router({.security = {.insecure = true}, .map_cache = folder_});
  EXPECT_TRUE(SayIn(router).status.ok());
  EXPECT_TRUE(router.WaitReady("kv", 0ms).ok());
  std::filesystem::remove_all(folder_);
}

TEST_P(NoMapTest, WithDiscoveryOfAnotherCellItFailsAtOnceAndNamesBoth) {
  hub_.Publish(kApp, MapOf("test@1764000000000", 1));
  Router router(
      {.discovery = {discovery_->endpoint()}, .security = {.insecure = true}, .cell = "prod"});
  ExpectFailsAtOnce(router, AllOf(HasSubstr("kv: " + discovery_->endpoint()),
                                  HasSubstr("has maps of cell test@1764000000000, not of prod "
                                            "(RouterOptions::cell)")));
  // And what waited before, too.
  DiscoveryServer discovery(other_);
  Router waiting(
      {.discovery = {discovery.endpoint()}, .security = {.insecure = true}, .cell = "prod"});
  auto call = std::async(std::launch::async, [&] { return SayIn(waiting); });
  ASSERT_TRUE(Eventually([&] { return other_.subscribers() > 0; }));
  other_.Publish(kApp, MapOf("test@1764000000000", 1));
  EXPECT_EQ(call.get().status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_P(NoMapTest, OnceDiscoveryIsOfTheRightCellCallsSucceed) {
  other_.Publish(kApp, MapOf("prod@1", 1));
  hub_.Publish(kApp, MapOf("test@1", 7));
  const int port = discovery_->port();
  Router router(
      {.discovery = {discovery_->endpoint()}, .security = {.insecure = true}, .cell = "prod"});
  EXPECT_EQ(SayIn(router).status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  discovery_.reset();
  ASSERT_TRUE(Eventually([&] {
    return SayIn(router, {.timeout = 1ms}).status.error_code() ==
           grpc::StatusCode::DEADLINE_EXCEEDED;
  })) << "nobody says that it is another cell now";
  discovery_.emplace(other_, port);
  EXPECT_TRUE(SayIn(router).status.ok());
}

TEST_P(NoMapTest, AMapInMemoryIsUsedWhateverDiscoveryHasLater) {
  hub_.Publish(kApp, MapOf("prod@1", 1));
  const int port = discovery_->port();
  Router router(
      {.discovery = {discovery_->endpoint()}, .security = {.insecure = true}, .cell = "prod"});
  ASSERT_TRUE(SayIn(router).status.ok());
  other_.Publish(kApp, MapOf("test@1", 7));
  discovery_.reset();
  discovery_.emplace(other_, port);
  ASSERT_TRUE(Eventually([&] { return other_.subscribers() > 0; }));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(SayIn(router).status.ok());
  EXPECT_TRUE(router.WaitReady("kv", 0ms).ok());
}

TEST_P(NoMapTest, AnEndpointOfAnotherCellIsLeftForTheNextOne) {
  hub_.Publish(kApp, MapOf("test@1", 7));
  other_.Publish(kApp, MapOf("prod@1", 1));
  DiscoveryServer discovery(other_);
  Router router({.discovery = {discovery_->endpoint(), discovery.endpoint()},
                 .security = {.insecure = true},
                 .cell = "prod"});
  EXPECT_TRUE(SayIn(router).status.ok());
  EXPECT_TRUE(router.WaitReady("kv", 0ms).ok());
}

TEST_P(NoMapTest, WhenAllEndpointsAreOfOtherCellsItFailsAtOnceAndNamesThemAll) {
  hub_.Publish(kApp, MapOf("test@1", 7));
  other_.Publish(kApp, MapOf("dev@2", 1));
  DiscoveryServer discovery(other_);
  Router router({.discovery = {discovery_->endpoint(), discovery.endpoint()},
                 .security = {.insecure = true},
                 .cell = "prod"});
  ExpectFailsAtOnce(router, AllOf(HasSubstr("kv: "), HasSubstr("cell test@1, not of prod"),
                                  HasSubstr(discovery_->endpoint()),
                                  HasSubstr("cell dev@2, not of prod (RouterOptions::cell)"),
                                  HasSubstr(discovery.endpoint())));
}

TEST_P(NoMapTest, WhileOneEndpointOfTwoMayHaveOurCellACallWaitsForIt) {
  hub_.Publish(kApp, MapOf("test@1", 7));
  DiscoveryServer discovery(other_);  // has no map yet
  Router router({.discovery = {discovery_->endpoint(), discovery.endpoint()},
                 .security = {.insecure = true},
                 .cell = "prod"});
  auto call = std::async(std::launch::async, [&] { return SayIn(router); });
  ASSERT_TRUE(Eventually([&] { return other_.subscribers() > 0; }));
  other_.Publish(kApp, MapOf("prod@1", 1));
  EXPECT_TRUE(call.get().status.ok());
}

TEST_P(NoMapTest, WhereThereIsNoSuchAppItFailsAtOnceAndSucceedsOnceTheAppIsMade) {
  hub_.SetApps(Hub::Apps{"prod@1", {"mail"}});
  Router router({.discovery = {discovery_->endpoint()}, .security = {.insecure = true}});
  ExpectFailsAtOnce(router, HasSubstr("kv: there is no such app in cell prod@1"),
                    absl::StatusCode::kNotFound);
  hub_.SetApps(Hub::Apps{"prod@1", {"mail", "kv"}});
  auto call = std::async(std::launch::async, [&] {
    Result result = SayIn(router);
    while (result.status.error_code() == grpc::StatusCode::NOT_FOUND) result = SayIn(router);
    return result;
  });
  hub_.Publish(kApp, MapOf("prod@1", 1));
  EXPECT_TRUE(call.get().status.ok());
  EXPECT_EQ(router.WaitReady("kv", 20s), absl::OkStatus());
}

TEST_P(NoMapTest, AnAppOfAnotherCellThatIsNotThereIsAFaultOfTheCell) {
  hub_.SetApps(Hub::Apps{"test@1", {}});
  Router router(
      {.discovery = {discovery_->endpoint()}, .security = {.insecure = true}, .cell = "prod"});
  ExpectFailsAtOnce(router, HasSubstr("has maps of cell test@1, not of prod"));
}

TEST_P(NoMapTest, WhenDiscoveryIsLostNobodySaysAnyMoreThatThereIsNoSuchApp) {
  hub_.SetApps(Hub::Apps{"prod@1", {}});
  Router router({.discovery = {discovery_->endpoint()}, .security = {.insecure = true}});
  ExpectFailsAtOnce(router, HasSubstr("there is no such app"), absl::StatusCode::kNotFound);
  discovery_.reset();
  EXPECT_TRUE(Eventually([&] {
    return SayIn(router, {.timeout = 1ms}).status.error_code() ==
           grpc::StatusCode::DEADLINE_EXCEEDED;
  }));
}

TEST_P(NoMapTest, WithAKeptMapItServesOnWhereDiscoveryKnowsNoSuchApp) {
  std::filesystem::create_directories(folder_);
  v1::CachedMap kept;
  kept.set_app("kv");
  *kept.mutable_map() = MapOf("prod@1", 1);
  ASSERT_TRUE(WriteMapFile(folder_ + "/kv.map", kept).ok());
  hub_.SetApps(Hub::Apps{"prod@1", {}});
  Router router({.discovery = {discovery_->endpoint()},
                 .security = {.insecure = true},
                 .map_cache = folder_});
  EXPECT_TRUE(SayIn(router).status.ok());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(SayIn(router).status.ok());
  std::filesystem::remove_all(folder_);
}

INSTANTIATE_TEST_SUITE_P(Ways, NoMapTest, EveryWay(), NameOfWay);

}  // namespace
}  // namespace shardmanager::router
