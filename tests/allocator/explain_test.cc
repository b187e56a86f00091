#include "allocator/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace shardmanager::allocator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Four servers in two regions, with a load of cpu each, and one shard on server 0 with
// a load of 2.
Snapshot OneShard() {
  Snapshot snapshot;
  for (uint32_t i = 0; i < 4; ++i) {
    snapshot.servers.push_back({.server = ServerIndex(10 + i),
                                .region = 1 + i % 2,
                                .datacenter = i,
                                .rack = i,
                                .other_replicas = 4});
  }
  snapshot.metrics = {{.name = "cpu"}};
  snapshot.capacity.assign(4, 16);
  snapshot.other_load = {12, 4, 6, 15};
  snapshot.shards = {{.shard = ShardIndex(7), .replicas = {{ServerIndex(10)}}}};
  snapshot.load = {2, 2};
  return snapshot;
}

const Candidate* Find(const Explanation& explanation, uint32_t server) {
  for (const Candidate& candidate : explanation.candidates) {
    if (candidate.server == ServerIndex(server)) return &candidate;
  }
  return nullptr;
}

TEST(ExplainTest, SaysWhatAReplicaCostsWhereItIs) {
  const Explanation explanation = Explain(OneShard(), {});
  ASSERT_THAT(explanation.replicas, SizeIs(1));
  EXPECT_EQ(explanation.replicas[0].server, ServerIndex(10));
  ASSERT_FALSE(explanation.replicas[0].arguments.empty());
  EXPECT_EQ(explanation.replicas[0].arguments[0].goal, "balance");
  EXPECT_EQ(explanation.replicas[0].arguments[0].rule, "balance(server, cpu)");
  EXPECT_GT(explanation.replicas[0].arguments[0].cost, 0);
}

TEST(ExplainTest, ListsTheBestCandidatesFirstAndSaysWhatDecides) {
  const Explanation explanation = Explain(OneShard(), {});
  EXPECT_EQ(explanation.servers_considered, 4u);
  ASSERT_THAT(explanation.candidates, SizeIs(3));
  EXPECT_EQ(explanation.candidates[0].verdict, Verdict::kBetter);
  EXPECT_THAT(explanation.candidates[0].reason, HasSubstr("balance gains: balance(server, cpu)"));
  EXPECT_EQ(explanation.candidates[2].server, ServerIndex(13));
  EXPECT_EQ(explanation.candidates[2].verdict, Verdict::kRefused);
  EXPECT_EQ(explanation.candidates[2].reason, "it has no room: capacity(server, cpu)");
  EXPECT_EQ(explanation.candidates[2].short_of, "cpu");
  ASSERT_THAT(explanation.refused, SizeIs(1));
  EXPECT_EQ(explanation.refused[0].servers, 1u);
}

TEST(ExplainTest, AHigherGoalDecidesAlone) {
  Snapshot snapshot = OneShard();
  snapshot.shards[0].preferred_region = 1;
  const Explanation explanation = Explain(snapshot, {});
  const Candidate* empty = Find(explanation, 11);  // the emptiest, in the other region
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(empty->verdict, Verdict::kWorse);
  EXPECT_THAT(empty->reason, HasSubstr("region preference loses"));
  EXPECT_EQ(explanation.candidates[0].server, ServerIndex(12));
}

TEST(ExplainTest, BoundsTheListAndAnswersForOneServer) {
  EXPECT_THAT(Explain(OneShard(), {.most_candidates = 1}).candidates, SizeIs(1));
  const Explanation one = Explain(OneShard(), {.only = ServerIndex(13)});
  ASSERT_THAT(one.candidates, SizeIs(1));
  EXPECT_EQ(one.candidates[0].verdict, Verdict::kRefused);
  const Explanation home = Explain(OneShard(), {.only = ServerIndex(10)});
  ASSERT_THAT(home.candidates, SizeIs(1));
  EXPECT_EQ(home.candidates[0].verdict, Verdict::kHolds);
}

TEST(ExplainTest, ExplainsAMissingReplica) {
  Snapshot snapshot = OneShard();
  snapshot.shards[0].wanted_replicas = 2;
  snapshot.spread = Spread::kRegion;
  const Explanation explanation = Explain(snapshot, {});
  ASSERT_THAT(explanation.replicas, SizeIs(2));
  EXPECT_FALSE(explanation.replicas[1].server.valid());
  EXPECT_EQ(explanation.candidates.at(0).server, ServerIndex(11));
  EXPECT_EQ(explanation.candidates.at(0).verdict, Verdict::kBetter);
  EXPECT_FALSE(explanation.candidates.at(0).from.valid());
  const Candidate* same_region = Find(explanation, 12);
  ASSERT_NE(same_region, nullptr);
  EXPECT_EQ(same_region->verdict, Verdict::kRefused);
  EXPECT_THAT(same_region->reason, HasSubstr("another replica of the shard is too near"));
}

TEST(ExplainTest, SaysThatBalanceDoesNotMoveAShardBack) {
  Snapshot snapshot = OneShard();
  snapshot.shards[0].left = {ServerIndex(11)};
  const Candidate back = Explain(snapshot, {.only = ServerIndex(11)}).candidates.at(0);
  EXPECT_EQ(back.verdict, Verdict::kWorse);
  EXPECT_EQ(back.reason, "a replica of the shard left it for balance within the last hour");
  ASSERT_FALSE(back.arguments.empty());
  EXPECT_EQ(back.arguments[0].goal, "no return");
  snapshot.servers[0].accepts = false;
  snapshot.servers[0].draining = true;
  EXPECT_EQ(Explain(snapshot, {.only = ServerIndex(11)}).candidates.at(0).verdict,
            Verdict::kBetter);
}

TEST(ExplainTest, SaysThatAServerTakesNoMore) {
  Snapshot snapshot = OneShard();
  snapshot.servers[1].accepts = false;
  snapshot.servers[1].draining = true;
  const Explanation explanation = Explain(snapshot, {.only = ServerIndex(11)});
  EXPECT_EQ(explanation.candidates.at(0).verdict, Verdict::kRefused);
  EXPECT_THAT(explanation.candidates.at(0).reason, HasSubstr("takes no more shards"));
}

// Two replicas may come, and what rules out the first is no matter where the second is better.
TEST(ExplainTest, CountsAsRuledOutWhatItsCandidatesSay) {
  std::mt19937 random(5);
  const auto any = [&](uint32_t below) { return random() % below; };
  for (int round = 0; round < 200; ++round) {
    Snapshot snapshot = OneShard();
    snapshot.shards[0].wanted_replicas = 1 + any(3);
    snapshot.spread = any(2) == 0 ? Spread::kRegion : Spread::kServer;
    snapshot.shards[0].replicas = {{ServerIndex(10)}};
    snapshot.load = {static_cast<float>(1 + any(8))};
    for (uint32_t extra = 1; extra < snapshot.shards[0].wanted_replicas && any(2) == 0; ++extra) {
      snapshot.shards[0].replicas.push_back({ServerIndex(10 + extra)});
      snapshot.load.push_back(static_cast<float>(1 + any(8)));
    }
    snapshot.load.push_back(2);
    for (ServerInfo& server : snapshot.servers) server.accepts = any(4) != 0;
    const Explanation explanation = Explain(snapshot, {.most_candidates = 100});
    uint32_t refused = 0;
    for (const Candidate& candidate : explanation.candidates) {
      refused += candidate.verdict == Verdict::kRefused;
    }
    uint32_t counted = 0, most = 0;
    for (const RefusedCount& rule : explanation.refused) {
      counted += rule.servers;
      most = std::max(most, rule.servers);
    }
    EXPECT_LE(most, refused) << round;
    EXPECT_GE(counted, refused) << round;
  }
}

// A plan does something that Explain() calls better; when nothing is, it does nothing.
TEST(ExplainTest, AgreesWithTheSearch) {
  Snapshot snapshot = OneShard();
  for (int round = 0; round < 2; ++round) {
    const Explanation explanation = Explain(snapshot, {});
    const Plan plan = Solve(snapshot, {});
    const bool better = explanation.candidates.at(0).verdict == Verdict::kBetter;
    ASSERT_EQ(better, plan.moves.size() == 1) << round;
    if (!better) return;
    const Candidate* taken = Find(explanation, plan.moves[0].to.index());
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(taken->verdict, Verdict::kBetter);
    const size_t to = plan.moves[0].to.index() - 10;
    snapshot.shards[0].replicas = {{plan.moves[0].to}};
    std::swap(snapshot.servers[0].other_replicas, snapshot.servers[to].other_replicas);
  }
  FAIL() << "it would move for ever";
}

TEST(ExplainTest, WithoutServersThereAreNoCandidates) {
  Snapshot snapshot;
  snapshot.shards = {{.shard = ShardIndex(0)}};
  const Explanation explanation = Explain(snapshot, {});
  EXPECT_THAT(explanation.candidates, IsEmpty());
  EXPECT_THAT(explanation.replicas, SizeIs(1));
}

}  // namespace
}  // namespace shardmanager::allocator
