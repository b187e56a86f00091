// What a server reads in the store of its cell, and what it tells its membership of that.
#include "server/cell_link.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordination/envelope.h"
#include "coordination/memory/memory_ensemble.h"
#include "tests/runtime/hand_executor.h"

namespace shardmanager::server {
namespace {

class CellLinkTest : public testing::Test {
 protected:
  CellLinkTest() {
    link_.NewSession();
    RunUntilIdle();
    events_.clear();
  }

  void RunUntilIdle() {
    while (ensemble_.RunOne() || executor_.RunOne()) {
    }
  }

  static ServerOptions Options() {
    ServerOptions options;
    options.app = "kv";
    options.name = "kv-1";
    options.cell = "c";
    options.fault_domain = {.region = "eu", .datacenter = "eu-1", .rack = "r7"};
    options.capacity = 12;
    options.metric_capacity = {{"disk", 3.5}};
    return options;
  }

  MemoryEnsemble ensemble_;
  HandExecutor executor_;
  std::vector<Membership::Event> events_;
  CellLink link_{
      Options(), "127.0.0.1:1", ensemble_, executor_,
      CellLink::Callbacks{.event = [this](Membership::Event e) { events_.push_back(std::move(e)); },
                          .assigned = [](const Assigned&) {}}};
};

// The control plane places shards by this.
TEST_F(CellLinkTest, TheLiveNodeSaysWhereTheServerStandsAndHowMuchItCanTake) {
  const Paths paths("c");
  const AppName app("kv");
  std::vector<WriteOp> folders;
  for (const std::string& path :
       {paths.root(), paths.apps(), paths.app(app), paths.servers(app), paths.live(app),
        Paths::bucket(paths.servers(app), 0), Paths::bucket(paths.live(app), 0)}) {
    folders.push_back(CreateNode{path, ""});
  }
  const auto maker = ensemble_.NewSession({});
  maker->Multi(std::move(folders), [](const WriteResult& made) { EXPECT_TRUE(made.status.ok()); });
  RunUntilIdle();
  link_.Do(Register{7, /*known=*/false, 0, Incarnation(1)});
  RunUntilIdle();
  const auto node =
      ensemble_.tree().Get(paths.live(app, ServerName("kv-1"), Incarnation(1), /*buckets=*/1));
  ASSERT_TRUE(node.ok()) << node.status();
  v1::LiveRecord record;
  ASSERT_TRUE(Open(node->data, &record).ok());
  EXPECT_EQ(record.server(), "kv-1");
  EXPECT_EQ(record.incarnation(), 1u);
  EXPECT_EQ(record.endpoint(), "127.0.0.1:1");
  EXPECT_EQ(record.fault_domain().region(), "eu");
  EXPECT_EQ(record.fault_domain().datacenter(), "eu-1");
  EXPECT_EQ(record.fault_domain().rack(), "r7");
  EXPECT_EQ(record.capacity(), 12u);
  EXPECT_EQ(record.metric_capacity().at("disk"), 3.5);
  EXPECT_FALSE(record.process().empty());
}

// Asked again later, from the registration on: what is listed as live now may be newer than it.
TEST_F(CellLinkTest, ARegistrationThatCouldNotBeReadIsUnknownAtOnce) {
  link_.Do(ReadStanding{7});
  ensemble_.Disconnect(ensemble_.last_session());
  RunUntilIdle();
  ASSERT_EQ(events_.size(), 1u);
  const auto* answer = std::get_if<StandingAnswer>(&events_.front());
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->ticket, 7u);
  EXPECT_EQ(answer->answer, Answer::kUnknown);
}

}  // namespace
}  // namespace shardmanager::server
