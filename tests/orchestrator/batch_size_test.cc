// Batches within the store's limit, and what happens to a record that is larger than the limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "coordination/write_check.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/state/record_size.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Keeps the writes that it is sent, and answers none.
class SilentStore final : public CoordinationStore {
 public:
  std::vector<std::vector<WriteOp>> writes;

  void Get(const std::string&, NodeCallback, Watch) override {}
  void GetChildren(const std::string&, ChildrenCallback, Watch) override {}
  void Multi(std::vector<WriteOp> ops, WriteCallback) override { writes.push_back(std::move(ops)); }
  void Sync(StatusCallback) override {}
  void GetAccess(const std::string&, AccessCallback) override {}
  void SetAccess(const std::string&, AccessList, StatusCallback) override {}
  StoreAccess* access() const override { return nullptr; }
  SessionState state() const override { return SessionState::kConnected; }
  std::chrono::milliseconds session_timeout() const override { return {}; }
  int64_t session_id() const override { return 1; }
  void Close() override {}
};

// Letters and digits in random order, which compress badly.
std::string RandomName(Random& random, size_t bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  std::string name = "s";
  while (name.size() < bytes) name += kLetters[random.Below(kLetters.size())];
  return name;
}

constexpr size_t kLongestName = 127;

v1::AppSpec SpecOfLongNames(int shards) {
  Random random(7);
  v1::AppSpec spec = TestSpec(0);
  for (int i = 0; i < shards; ++i) {
    spec.mutable_key_space()->add_shards()->set_id(RandomName(random, kLongestName));
  }
  return spec;
}

class BatchSizeTest : public testing::Test {
 protected:
  BatchSizeTest() { spdlog::set_level(spdlog::level::off); }

  WriterOptions Options(const std::string& cell = "cell", const std::string& app = "kv") {
    return {.store = &store_,
            .paths = Paths(cell),
            .app = AppName(app),
            .buckets = 64,
            .leader_epoch = LeaderEpoch(1),
            .post = [](const std::function<void()>& task) { task(); }};
  }

  // What becomes of the world's writes: each is sent by the real writer to a store that refuses
  // what is too large. Returns how many there were.
  int FinishWrites(World& world) {
    int writes = 0;
    for (; !world.writes.empty(); ++writes) {
      BatchWriter writer(Options(), {});
      std::optional<WriteDone> refused;
      const size_t sent = store_.writes.size();
      writer.Write(world.writes.front(), world.partition().tables(),
                   [&](WriteDone done) { refused = done; });
      EXPECT_FALSE(refused.has_value());
      if (store_.writes.size() == sent) return writes;
      const absl::Status fits = CheckWriteSize(store_.writes.back());
      EXPECT_TRUE(fits.ok()) << fits;
      if (!fits.ok()) return writes;
      world.FinishWrite(WriteOutcome::kOk);
    }
    return writes;
  }

  SilentStore store_;
};

TEST_F(BatchSizeTest, BatchesOfTheLongestNamesFitIntoTheStore) {
  World world(SpecOfLongNames(9'000));
  world.check_every_step = false;
  world.hold_writes = true;
  for (const char* name : {"kv-0", "kv-1"}) {
    world.servers[name] = {.incarnation = Incarnation(1), .live = true};
  }
  world.Start();
  world.Gather();
  EXPECT_LE(FinishWrites(world), 5);
  EXPECT_EQ(world.Served(), 9'000u);
  world.CheckInvariants();
}

TEST_F(BatchSizeTest, AServerWhoseRecordIsFullGetsNoMore) {
  World world(SpecOfLongNames(8'000));
  world.check_every_step = false;
  world.hold_writes = true;
  world.servers["kv-0"] = {.incarnation = Incarnation(1), .live = true};
  world.Start();
  world.Gather();
  FinishWrites(world);
  const size_t most = kMostRecordBytes / ReplicaBytes(std::string(kLongestName, 'x'));
  EXPECT_EQ(world.Served(), most);
  EXPECT_THAT(DescribeApp(world.partition().state(), world.now).conditions(),
              Contains(HasSubstr("kv-0: its assignment record is full, with 5194 replicas")));
  EXPECT_EQ(world.NoteCount(NoteKind::kShardUnplaceable), 1u);

  world.Join("kv-1");
  world.Gather();
  FinishWrites(world);
  world.Advance(Seconds(5));
  FinishWrites(world);
  EXPECT_EQ(world.Served(), 8'000u);
}

TEST_F(BatchSizeTest, SizesAreBoundsOfWhatIsSent) {
  World world(TestSpec(0));
  const std::string app(63, 'a');
  const std::string server(kLongestName, 'k');
  v1::AppSpec spec = TestSpec(0);
  spec.set_name(app);
  for (char c : {'a', 'b'}) {
    spec.mutable_key_space()->add_shards()->set_id(std::string(kLongestName, c));
  }
  world.Start();
  world.Apply(spec);
  world.Join(server);
  world.Gather();
  const Tables& tables = world.partition().tables();
  Persist batch{.batch = 1, .writes = {{ServerIndex(0), {}}}, .checks = {{ServerIndex(0), 1}}};
  size_t bound = EmptyRecordBytes(app, server);
  for (size_t i = 0; i < 2; ++i) {
    const ShardIndex shard = world.partition().state().map_order[i];
    batch.writes[0].replicas.push_back(
        {shard, Role::kSecondary, Phase::kDemoting, ShardEpoch(UINT64_MAX), UINT32_MAX});
    bound += ReplicaBytes(tables.name(shard));
  }
  ASSERT_EQ(tables.server(ServerIndex(0)).record_bytes, bound - EmptyRecordBytes(app, server));
  BatchWriter writer(Options(std::string(63, 'c'), app), {});
  writer.Write(batch, tables, [](WriteDone) {});
  ASSERT_THAT(store_.writes, SizeIs(1));
  ASSERT_THAT(store_.writes[0], SizeIs(3));  // epoch, registration, record
  EXPECT_LE(WriteBytes(store_.writes[0][1]), CheckBytes(app, server));
  EXPECT_LE(WriteBytes(store_.writes[0][2]), bound);
  EXPECT_GE(WriteBytes(store_.writes[0][2]) + AccessListBytes(app, server) + 32, bound);
}

TEST_F(BatchSizeTest, TheWriterNamesTheLargestRecordOfABatchThatIsTooLarge) {
  World world(SpecOfLongNames(12'000));
  world.hold_plans = true;
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  Persist batch{.batch = 9, .writes = {}, .checks = {}};
  for (size_t i = 0; i < 3; ++i) batch.writes.push_back({ServerIndex(i), {}});
  for (size_t i = 0; i < 12'000; ++i) {
    batch.writes[i < 11'900 ? 1 : 2].replicas.push_back({world.partition().state().map_order[i],
                                                         Role::kPrimary, Phase::kGranted,
                                                         ShardEpoch(i + 1)});
  }
  BatchWriter writer(Options(), {});
  std::optional<WriteDone> answer;
  writer.Write(batch, world.partition().tables(), [&](WriteDone done) { answer = done; });
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->outcome, WriteOutcome::kTooLarge);
  EXPECT_EQ(answer->conflict, ServerIndex(1));
  EXPECT_THAT(store_.writes, IsEmpty());
}

// The store refuses every write of kv-0's record. The other servers' shards do not wait for it.
class OversizeTest : public testing::Test {
 protected:
  OversizeTest() : world_(TestSpec(6)) {
    world_.Start();
    for (const char* name : {"kv-0", "kv-1"}) world_.Join(name);
    world_.Gather();
    world_.hold_writes = true;
  }

  // Returns how many were refused.
  int FinishWrites() {
    int refused = 0;
    const ServerIndex large = world_.partition().tables().FindServer("kv-0");
    while (!world_.writes.empty()) {
      const auto& writes = world_.writes.front().writes;
      const bool too_large = std::any_of(writes.begin(), writes.end(),
                                         [&](const ServerWrite& w) { return w.server == large; });
      refused += too_large;
      world_.FinishWrite(too_large ? WriteOutcome::kTooLarge : WriteOutcome::kOk, "kv-0");
    }
    return refused;
  }
  int AdvanceSeconds(int seconds) {
    int refused = FinishWrites();
    for (int i = 0; i < 10 * seconds; ++i) {
      world_.Advance(Milliseconds(100));
      refused += FinishWrites();
    }
    return refused;
  }
  std::string Conditions() {
    std::string all;
    const v1::AppStatus app = DescribeApp(world_.partition().state(), world_.now);
    for (const std::string& c : app.conditions()) absl::StrAppend(&all, c, "\n");
    return all;
  }

  World world_;
};

TEST_F(OversizeTest, ItsWriteIsTriedAgainEverMoreSeldom) {
  world_.Depart("kv-0");  // its three shards must go
  EXPECT_THAT(AdvanceSeconds(300), ::testing::AllOf(::testing::Ge(6), ::testing::Le(10)));
  EXPECT_EQ(world_.NoteCount(NoteKind::kRecordTooLarge), 1u);
  EXPECT_THAT(Conditions(), HasSubstr("kv-0: its assignment record, of 3 replicas, is larger than "
                                      "the coordination store takes in one write"));
  EXPECT_THAT(DescribeServers(world_.partition().state(), world_.now, "kv-0").at(0).reason(),
              HasSubstr("larger than the coordination store takes"));

  world_.hold_writes = false;  // it fits now
  world_.Advance(Seconds(61));
  EXPECT_EQ(world_.Served(), 6u);
  EXPECT_THAT(Conditions(), Not(HasSubstr("assignment record")));
}

TEST_F(OversizeTest, OtherServersShardsGoOn) {
  world_.Join("kv-2");
  world_.Depart("kv-0");
  AdvanceSeconds(1);
  const size_t before = world_.NoteCount(NoteKind::kServerDeparted);
  world_.Depart("kv-1");
  EXPECT_LE(AdvanceSeconds(1), 1);
  EXPECT_EQ(world_.NoteCount(NoteKind::kServerDeparted), before + 1);
  EXPECT_EQ(world_.Counts().at("kv-2"), 3u) << "what was at kv-1";
}

TEST_F(OversizeTest, ItGetsNothingNew) {
  world_.Apply(TestSpec(8));  // one more for each
  AdvanceSeconds(1);
  EXPECT_EQ(world_.Served(), 8u);
  EXPECT_EQ(world_.Counts().at("kv-0"), 3u);
}

// s-0 cannot be written while the record of a server that it leaves is refused; plans go on.
TEST(OversizePlansTest, APlanReplacesAnEarlierOneThatIsNotWrittenYet) {
  World world(TestSpec(1, v1::SECONDARY_ONLY, 3));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Gather();
  world.servers.at("kv-0").answers = false;
  world.Apply(TestSpec(1, v1::SECONDARY_ONLY, 2));
  world.hold_writes = true;
  world.servers.at("kv-0").answers = true;
  for (int refused = 0; refused < 5; ++refused) {  // then it waits for 16 s
    world.Advance(Seconds(10));
    ASSERT_EQ(world.writes.size(), 1u) << "kv-0 has dropped it";
    world.FinishWrite(WriteOutcome::kTooLarge);
  }
  world.hold_writes = false;
  v1::AppSpec spec = TestSpec(1, v1::SECONDARY_ONLY, 5);
  spec.mutable_moves()->set_balance_interval_ms(1'000);
  world.Apply(spec);
  world.Join("kv-3");
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Holders("s-0"), ElementsAre("kv-0", "kv-1", "kv-2", "kv-3"));
  for (const auto& [name, server] : world.servers) EXPECT_THAT(server.record, SizeIs(1)) << name;
}

}  // namespace
}  // namespace shardmanager::orchestrator
