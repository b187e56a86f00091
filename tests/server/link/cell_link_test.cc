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
  Assigned assigned_;
  CellLink link_{
      Options(), "127.0.0.1:1", ensemble_, executor_,
      CellLink::Callbacks{.event = [this](Membership::Event e) { events_.push_back(std::move(e)); },
                          .assigned = [this](Assigned a) { assigned_ = std::move(a); }}};
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

// A process that begins between the write and the command knows where the data is.
TEST_F(CellLinkTest, ARecordThatNamesANewShardSaysWhatItIsMadeOf) {
  const Paths paths("c");
  const AppName app("kv");
  v1::StoredSpec spec;
  spec.mutable_spec()->set_name("kv");
  v1::Reshape& split = *spec.add_reshapes();
  split.add_from()->set_id("s-1");
  split.set_hash_keys(true);
  for (const char* part : {"s-1.0", "s-1.1"}) {
    v1::Shard& to = *split.add_to();
    to.set_id(part);
    to.mutable_range()->set_start(part);
    to.mutable_range()->set_end("t");
  }
  v1::AssignmentRecord record;
  record.set_server("kv-1");
  for (const char* shard : {"s-0", "s-1.1"}) {
    v1::AssignedReplica& replica = *record.add_replicas();
    replica.set_shard(shard);
    replica.set_role(v1::PRIMARY);
    replica.set_epoch(7);
    replica.set_phase(v1::GRANTED);
  }
  const std::string assignment = paths.assignment(app, ServerName("kv-1"), /*buckets=*/1);
  const std::string bucket = assignment.substr(0, assignment.rfind('/'));
  const auto maker = ensemble_.NewSession({});
  maker->Multi(
      {CreateNode{paths.root(), ""}, CreateNode{paths.apps(), ""}, CreateNode{paths.app(app), ""},
       CreateNode{paths.spec(app), Seal(spec)}, CreateNode{bucket.substr(0, bucket.rfind('/')), ""},
       CreateNode{bucket, ""}, CreateNode{assignment, Seal(record)}},
      [](const WriteResult& made) { EXPECT_TRUE(made.status.ok()) << made.status; });
  RunUntilIdle();
  link_.Do(ReadAssignment{7, Incarnation(1)});
  RunUntilIdle();
  ASSERT_EQ(assigned_.grants.size(), 2u);
  EXPECT_FALSE(assigned_.grants[0].origin.has_value());
  ASSERT_TRUE(assigned_.grants[1].origin.has_value());
  const ShardOrigin& origin = *assigned_.grants[1].origin;
  EXPECT_EQ(origin.made_of, std::vector<ShardId>{ShardId("s-1")});
  EXPECT_EQ(origin.start, "s-1.1");
  EXPECT_EQ(origin.end, "t");
  EXPECT_TRUE(origin.hash_keys);
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
