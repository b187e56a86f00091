// What a subscriber makes of a message's bytes, against protobuf's own reading of them.
#include "discovery/watch_update.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/discovery/test_maps.h"

namespace shardmanager::discovery {
namespace {

constexpr MapVersion V(uint64_t sequence) { return {1, sequence}; }

v1::WatchResponse SnapshotOf(int shards) {
  v1::WatchResponse response;
  *response.mutable_snapshot() = MakeSnapshot(V(3), Owners(static_cast<size_t>(shards), {0, 2}));
  response.mutable_snapshot()->set_cell("prod@17");
  return response;
}

// The same message, of what the update holds.
std::string BytesOf(const WatchUpdate& update) {
  v1::WatchResponse response = update.rest;
  if (update.part) update.part->MergeInto(*response.mutable_snapshot());
  return response.SerializeAsString();
}

TEST(WatchUpdateTest, HoldsWhatTheMessageSays) {
  v1::WatchResponse more = SnapshotOf(600);
  more.set_more(true);
  v1::WatchResponse delta;
  *delta.mutable_delta() = MakeDelta(V(1), V(2), 0, {1});
  v1::WatchResponse heartbeat;
  heartbeat.mutable_heartbeat()->set_stale(true);
  for (const v1::WatchResponse& response :
       {SnapshotOf(0), SnapshotOf(1), more, delta, heartbeat, v1::WatchResponse()}) {
    const std::string bytes = response.SerializeAsString();
    const auto update = WatchUpdate::Parse(PageString(bytes));
    ASSERT_TRUE(update.ok()) << update.status() << response.ShortDebugString();
    EXPECT_EQ(update->part.has_value(), response.has_snapshot());
    EXPECT_EQ(BytesOf(*update), bytes);
    EXPECT_EQ(BytesOf(WatchUpdate(response)), bytes);
  }
}

TEST(WatchUpdateTest, KnowsItsPart) {
  const auto update = WatchUpdate::Parse(PageString(SnapshotOf(600).SerializeAsString()));
  ASSERT_TRUE(update.ok() && update->part);
  EXPECT_EQ(update->part->version(), V(3));
  EXPECT_EQ(update->part->shards(), 600u);
  EXPECT_TRUE(update->part->last());
  EXPECT_TRUE(update->part->MayHave(599));
  EXPECT_FALSE(update->part->MayHave(600));
  EXPECT_EQ(update->cell(), "prod@17");
}

// Fields may come in any order, and what newer builds send is passed over.
TEST(WatchUpdateTest, TakesFieldsInAnyOrderAndOfAnyKind) {
  v1::WatchResponse more;
  more.set_more(true);
  const std::string unknown =
      "\xa0\x06\x07\xa9\x06"
      "12345678\xad\x06"
      "1234\xb2\x06\x02hi";
  const auto update = WatchUpdate::Parse(
      PageString(unknown + more.SerializeAsString() + SnapshotOf(2).SerializeAsString() + unknown));
  ASSERT_TRUE(update.ok()) << update.status();
  ASSERT_TRUE(update->part.has_value());
  EXPECT_EQ(update->part->shards(), 2u);
  EXPECT_TRUE(update->rest.more());
}

TEST(WatchUpdateTest, TheLastOfSeveralUpdatesCounts) {
  v1::WatchResponse heartbeat;
  heartbeat.mutable_heartbeat()->set_stale(true);
  const std::string snapshot = SnapshotOf(2).SerializeAsString();
  auto update = WatchUpdate::Parse(PageString(snapshot + heartbeat.SerializeAsString()));
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_FALSE(update->part.has_value());
  EXPECT_TRUE(update->rest.heartbeat().stale());
  update = WatchUpdate::Parse(PageString(heartbeat.SerializeAsString() + snapshot));
  ASSERT_TRUE(update.ok()) << update.status();
  ASSERT_TRUE(update->part.has_value());
  EXPECT_EQ(update->part->shards(), 2u);
}

TEST(WatchUpdateTest, RefusesWhatIsNoMessage) {
  const std::string bytes = SnapshotOf(3).SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(WatchUpdate::Parse(PageString(bytes.substr(0, size))).ok()) << size;
  }
  v1::WatchResponse no_text = SnapshotOf(3);
  no_text.mutable_snapshot()->mutable_shards(2)->set_id("\xff");
  EXPECT_FALSE(WatchUpdate::Parse(PageString(no_text.SerializeAsString())).ok());
  v1::WatchResponse no_name = SnapshotOf(3);
  no_name.mutable_snapshot()->mutable_servers(0)->set_name("\xff");
  EXPECT_FALSE(WatchUpdate::Parse(PageString(no_name.SerializeAsString())).ok());
}

}  // namespace
}  // namespace shardmanager::discovery
