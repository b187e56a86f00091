#include "shardmanager/shard_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardmanager {
namespace {

ShardId Id(size_t i) { return ShardId("shard-" + std::to_string(i)); }

// Neither copied nor moved, as a state with a mutex.
struct State {
  State(int first, std::atomic<int>* ends) : value(first), ends(ends) {}
  State(const State&) = delete;
  ~State() { ends->fetch_add(1); }
  std::atomic<int> value;
  std::atomic<int>* ends;
};
using Table = ShardTable<State>;

class ShardTableTest : public testing::Test {
 protected:
  Table::Owner Make(int value) { return Table::New(value, &ends_); }
  int ValueOf(size_t shard) const {
    const State* state = table_.Find(Id(shard));
    return state == nullptr ? -1 : state->value.load();
  }

  std::atomic<int> ends_{0};  // states that were destroyed
  Table table_;
};

TEST_F(ShardTableTest, FindsWhatWasInserted) {
  EXPECT_EQ(table_.Find(Id(1)), nullptr);
  EXPECT_FALSE(table_.Insert(Id(1), Make(11)));
  EXPECT_FALSE(table_.Insert(Id(2), Make(22)));
  EXPECT_EQ(ValueOf(1), 11);
  EXPECT_EQ(ValueOf(2), 22);
  EXPECT_EQ(ValueOf(3), -1);
}

TEST_F(ShardTableTest, GivesBackWhatItRemoves) {
  table_.Insert(Id(1), Make(11));
  const State* state = table_.Find(Id(1));
  {
    const Table::Owner removed = table_.Remove(Id(1));
    ASSERT_TRUE(removed);
    EXPECT_EQ(&*removed, state);
    EXPECT_EQ(removed->value, 11);
    EXPECT_EQ(table_.Find(Id(1)), nullptr);
    EXPECT_EQ(ends_, 0);
  }
  EXPECT_EQ(ends_, 1);
  EXPECT_FALSE(table_.Remove(Id(1)));
  EXPECT_FALSE(table_.Remove(Id(2)));
}

TEST_F(ShardTableTest, TakesAShardInAgain) {
  table_.Insert(Id(1), Make(1));
  table_.Remove(Id(1));
  table_.Insert(Id(1), Make(2));
  EXPECT_EQ(ValueOf(1), 2);
  const Table::Owner replaced = table_.Insert(Id(1), Make(3));
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->value, 2);
  EXPECT_EQ(ValueOf(1), 3);
}

TEST_F(ShardTableTest, KeepsStatesInPlaceWhileItGrows) {
  constexpr int kShards = 1'000;
  table_.Insert(Id(0), Make(0));
  const State* first = table_.Find(Id(0));
  for (int i = 1; i < kShards; ++i) table_.Insert(Id(static_cast<size_t>(i)), Make(i));
  EXPECT_EQ(table_.Find(Id(0)), first);
  for (int i = 0; i < kShards; ++i) EXPECT_EQ(ValueOf(static_cast<size_t>(i)), i);
  EXPECT_EQ(ValueOf(kShards), -1);
}

TEST_F(ShardTableTest, VisitsWhatIsThere) {
  for (int i = 0; i < 5; ++i) table_.Insert(Id(static_cast<size_t>(i)), Make(i));
  table_.Remove(Id(2));
  std::vector<std::pair<std::string, int>> seen;
  table_.ForEach([&](const ShardId& shard, State& state) {
    seen.emplace_back(shard.value(), state.value.load());
  });
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, int>>{
                      {"shard-0", 0}, {"shard-1", 1}, {"shard-3", 3}, {"shard-4", 4}}));
  EXPECT_TRUE(table_.Visit(Id(3), [](State& state) { state.value = 33; }));
  EXPECT_EQ(ValueOf(3), 33);
  const auto never = [](State&) { ADD_FAILURE(); };
  EXPECT_FALSE(table_.Visit(Id(2), never));
  EXPECT_FALSE(table_.Visit(Id(9), never));
}

TEST_F(ShardTableTest, DestroysWhatItHas) {
  {
    Table table;
    table.Insert(Id(1), Make(1));
    table.Insert(Id(2), Make(2));
    table.Remove(Id(2));
    EXPECT_EQ(ends_, 1);
  }
  EXPECT_EQ(ends_, 2);
}

TEST(ShardTablePaddingTest, StatesOfTwoShardsShareNoCacheLine) {
  ShardTable<char> table;
  std::vector<uintptr_t> lines;
  for (size_t i = 0; i < 50; ++i) {
    table.Insert(Id(i), ShardTable<char>::New('a'));
    lines.push_back(reinterpret_cast<uintptr_t>(table.Find(Id(i))) / 64);
  }
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
}

// Run under ThreadSanitizer: shards come and go, and the table grows, while requests of another
// shard, which is admitted all the time, find it and write to it.
TEST_F(ShardTableTest, FindsAnAdmittedShardWhileOthersComeAndGo) {
  table_.Insert(Id(0), Make(0));
  constexpr int kRounds = 2'000;
  std::barrier start(4);
  const auto request = [&] {
    start.arrive_and_wait();
    for (int i = 0; i < kRounds; ++i) table_.Find(Id(0))->value.fetch_add(1);
  };
  const auto handler = [&](size_t from) {
    start.arrive_and_wait();
    for (size_t i = from; i < from + 400; ++i) {
      table_.Insert(Id(i), Make(1));
      if (i % 2 == 0) table_.Remove(Id(i));
    }
  };
  { std::jthread a(request), b(request), c(handler, 1), d(handler, 1'001); }
  EXPECT_EQ(ValueOf(0), 2 * kRounds);
  EXPECT_EQ(ends_, 400);
  size_t left = 0;
  table_.ForEach([&](const ShardId&, State&) { ++left; });
  EXPECT_EQ(left, 401u);
}

// The same: whoever holds no admission visits, and no state ends under its hands.
TEST_F(ShardTableTest, RemoveWaitsForVisits) {
  std::barrier start(3);
  std::atomic<bool> stop{false};
  const auto visitor = [&](bool all) {
    start.arrive_and_wait();
    const auto touch = [](State& state) { state.value.fetch_add(1); };
    while (!stop) {
      all ? table_.ForEach([&](const ShardId&, State& state) { touch(state); })
          : void(table_.Visit(Id(0), touch));
    }
  };
  {
    std::jthread one(visitor, false), all(visitor, true);
    start.arrive_and_wait();
    for (int i = 0; i < 2'000; ++i) {
      table_.Insert(Id(0), Make(0));
      const Table::Owner removed = table_.Remove(Id(0));
      const int seen = removed->value;  // nobody writes to it any more
      EXPECT_EQ(removed->value, seen);
    }
    stop = true;
  }
  EXPECT_EQ(ends_, 2'000);
}

}  // namespace
}  // namespace shardmanager
