// A server that its clients cannot use is drained, whoever leads, and tried again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/server_view.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/small_cluster.h"

namespace shardmanager::simulation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::AppSpec Spec() {
  v1::AppSpec spec = PrimariesOnly();
  spec.mutable_moves()->set_balance_interval_ms(1'000);
  return spec;
}

class ClientDrainsTest : public testing::Test {
 protected:
  ClientDrainsTest() {
    spdlog::set_level(spdlog::level::off);
    checkers_.Watch(cluster_);
    operator_.ApplyUntilAcknowledged();
    RunFor(Seconds(30));
    EXPECT_EQ(checkers_.NotConverged(), "");
  }
  void RunFor(Duration time) { simulation::RunFor(time, cluster_); }
  void Say(uint64_t in_trouble) {
    ServerView view;
    view.trouble[static_cast<size_t>(Problem::kNoAnswer)] = in_trouble;
    said_ = {ToProto(gray_, view)};
  }
  v1::ServerStatus Gray() {
    v1::ServerStatus found;
    cluster_.control(cluster_.Leader())
        ->controller()
        .operations()
        .GetServers({}, [&](const absl::StatusOr<v1::GetServersResponse>& response) {
          ASSERT_TRUE(response.ok()) << response.status();
          for (const v1::ServerStatus& status : response->servers()) {
            if (status.server() == gray_) found = status;
          }
        });
    RunFor(Milliseconds(1));
    return found;
  }
  v1::AppStatus App() {
    v1::AppStatus app;
    cluster_.control(cluster_.Leader())
        ->controller()
        .operations()
        .GetApps({}, [&](const absl::StatusOr<v1::GetAppsResponse>& response) {
          ASSERT_TRUE(response.ok() && response->apps_size() == 1) << response.status();
          app = response->apps(0);
        });
    RunFor(Milliseconds(1));
    return app;
  }

  std::vector<v1::ServerSeen> said_;
  Checkers checkers_;
  ClusterOptions options_ = [this] {
    ClusterOptions options = SmallCluster(2, 2, Seconds(4));
    options.clients_say = [this] { return said_; };
    return options;
  }();
  Cluster cluster_{options_, /*seed=*/7, checkers_, [](uint64_t, bool) {}};
  Operator operator_{cluster_, checkers_, Spec()};
  const std::string gray_ = cluster_.servers()[0];
};

TEST_F(ClientDrainsTest, ItIsEmptiedAndStaysSoUnderANewLeaderUntilItIsTriedAgain) {
  ASSERT_EQ(Gray().state(), "live");
  ASSERT_GT(Gray().replicas(), 0u);
  Say(3);
  RunFor(Seconds(20));
  EXPECT_THAT(App().conditions(),
              ElementsAre(HasSubstr(absl::StrCat(gray_, ": 3 clients cannot use it"))));
  RunFor(Seconds(40));
  EXPECT_EQ(Gray().state(), "drained");
  EXPECT_EQ(Gray().reason(), "empty (3 clients cannot use it (no answer in time), 0 can)");
  said_.clear();  // nobody uses it any more

  const std::string first = cluster_.Leader();
  cluster_.Kill(first);
  RunFor(Seconds(60));
  ASSERT_NE(cluster_.Leader(), first);
  EXPECT_EQ(Gray().state(), "drained");
  ASSERT_EQ(App().drains_size(), 1);
  EXPECT_TRUE(App().drains(0).has_by_clients());

  RunFor(Seconds(300));
  EXPECT_EQ(Gray().state(), "live");
  EXPECT_GT(Gray().replicas(), 0u);
  EXPECT_THAT(App().drains(), IsEmpty());
}

TEST_F(ClientDrainsTest, ANewProcessOfItIsUsedAtOnce) {
  Say(3);
  RunFor(Seconds(60));
  ASSERT_EQ(Gray().state(), "drained");
  said_.clear();
  cluster_.Kill(gray_);
  RunFor(Seconds(10));
  cluster_.Start(gray_);
  RunFor(Seconds(20));
  EXPECT_EQ(Gray().state(), "live");
  EXPECT_GT(Gray().replicas(), 0u);
}

TEST_F(ClientDrainsTest, AnOperatorMayTakeItBack) {
  Say(3);
  RunFor(Seconds(60));
  said_.clear();
  operator_.DrainUntilAcknowledged(gray_, false);
  RunFor(Seconds(20));
  EXPECT_EQ(Gray().state(), "live");
  EXPECT_GT(Gray().replicas(), 0u);
}

}  // namespace
}  // namespace shardmanager::simulation
