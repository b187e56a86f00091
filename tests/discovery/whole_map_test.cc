// A whole map in parts, against a plain one in one piece.
#include "model/map/whole_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/discovery/test_maps.h"

namespace shardmanager::discovery {
namespace {

constexpr MapVersion V(uint64_t sequence) { return {1, sequence}; }

// As a publisher cuts it: the servers first.
WholeMap InParts(const v1::MapSnapshot& whole, int shards_each) {
  v1::MapSnapshot head = whole;
  head.clear_shards();
  head.set_last(false);
  v1::MapSnapshot part = head;
  WholeMap map(part);
  part.clear_servers();
  for (int at = 0; at < whole.shards_size(); at += shards_each) {
    part.clear_shards();
    for (int i = at; i < std::min(at + shards_each, whole.shards_size()); ++i) {
      *part.add_shards() = whole.shards(i);
    }
    map.Add(part);
  }
  return map;
}

std::vector<std::string> ShardsOf(const v1::MapSnapshot& whole) {
  PlainMap plain;
  plain.Apply(whole);
  return plain.Shards();
}

TEST(WholeMapTest, ItsPartsAreTheWhole) {
  const v1::MapSnapshot whole = MakeSnapshot(V(3), {{0}, {1, 2}, {}, {3}, {4}});
  const WholeMap map = InParts(whole, 2);
  EXPECT_EQ(map.version(), V(3));
  EXPECT_EQ(map.shards(), 5u);
  EXPECT_EQ(map.ToSnapshot().SerializeAsString(), whole.SerializeAsString());
  std::vector<int> sizes;
  EXPECT_TRUE(map.ForEachPiece([&](const v1::MapSnapshot& part) {
                   sizes.push_back(part.shards_size());
                   return absl::OkStatus();
                 })
                  .ok());
  EXPECT_THAT(sizes, ::testing::ElementsAre(0, 2, 2, 1));
}

TEST(WholeMapTest, ALargePartIsReadInSmallPieces) {
  const v1::MapSnapshot whole = MakeSnapshot(V(3), Owners(1'000, {0}));
  v1::MapSnapshot read;
  int pieces = 0;
  int largest = 0;
  EXPECT_TRUE(WholeMap(whole)
                  .ForEachPiece([&](const v1::MapSnapshot& piece) {
                    EXPECT_EQ(piece.servers_size() > 0, pieces == 0);
                    ++pieces;
                    largest = std::max(largest, piece.shards_size());
                    read.MergeFrom(piece);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(read.SerializeAsString(), whole.SerializeAsString());
  EXPECT_LE(largest, 300);
  EXPECT_LE(pieces, 10);
}

TEST(WholeMapTest, ServersThatComeBehindTheirShardsAreReadBeforeThem) {
  v1::MapSnapshot servers = MakeSnapshot(V(1), {{0}});
  v1::MapSnapshot shards = servers;
  servers.clear_shards();
  shards.clear_servers();
  auto part =
      SnapshotPart::Parse(PageString(shards.SerializeAsString() + servers.SerializeAsString()));
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_TRUE(part->ForEachPiece([](const v1::MapSnapshot& piece) {
                    EXPECT_EQ(piece.shards_size(), 1);
                    EXPECT_EQ(piece.servers_size(), 10);
                    return absl::OkStatus();
                  })
                  .ok());
}

TEST(WholeMapTest, ReadingEndsWithTheFirstPartThatIsRefused) {
  const WholeMap map = InParts(MakeSnapshot(V(3), {{0}, {1}, {2}}), 1);
  int seen = 0;
  const absl::Status status = map.ForEachPiece([&](const v1::MapSnapshot&) {
    return ++seen == 2 ? absl::InvalidArgumentError("no") : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::InvalidArgumentError("no"));
  EXPECT_EQ(seen, 2);
}

// Nobody can send it, but a program may make it.
TEST(WholeMapTest, TextThatNoMessageMayHaveIsAnErrorOfWhoeverReadsIt) {
  v1::MapSnapshot whole = MakeSnapshot(V(1), {{0}, {1}});
  whole.mutable_shards(1)->set_id("\xff");
  WholeMap map = InParts(whole, 1);
  map.Apply(MakeDelta(V(1), V(2), 1, {3}));
  const absl::Status status =
      map.ForEachPiece([](const v1::MapSnapshot&) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(WholeMapTest, ADeltaChangesShardsAndServersOfAnyPart) {
  WholeMap map = InParts(MakeSnapshot(V(1), {{0}, {1}, {2}, {3}}, 4), 1);
  v1::MapDelta delta = MakeDelta(V(1), V(2), 3, {0, 7});
  v1::MapServer* added = delta.add_servers();
  added->set_index(7);
  added->set_name("kv-7");
  added->set_endpoint("host-7:1");
  v1::MapServer* moved = delta.add_servers();
  moved->set_index(1);
  moved->set_name("kv-1");
  moved->set_endpoint("elsewhere:1");
  delta.add_servers()->set_index(3);  // gone
  map.Apply(delta);
  EXPECT_EQ(map.version(), V(2));
  const v1::MapSnapshot whole = map.ToSnapshot();
  EXPECT_EQ(whole.servers_size(), 4);
  const std::vector<std::string> shards = ShardsOf(whole);
  EXPECT_THAT(shards[1], ::testing::HasSubstr("elsewhere:1"));
  EXPECT_THAT(shards[3], ::testing::HasSubstr("host-7:1"));
}

TEST(WholeMapTest, AnyDeltasLeadWhereTheyLeadAPlainMap) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    const auto shards = static_cast<uint32_t>(1 + random.Below(40));
    Owners owners(shards);
    for (auto& of_one : owners) of_one = {static_cast<uint32_t>(random.Below(10))};
    const v1::MapSnapshot first = MakeSnapshot(V(1), owners);
    PlainMap plain;
    plain.Apply(first);
    WholeMap map = InParts(first, static_cast<int>(1 + random.Below(10)));
    for (uint64_t v = 1; v < 10; ++v) {
      const v1::MapDelta delta =
          MakeDelta(V(v), V(v + 1), static_cast<uint32_t>(random.Below(shards)),
                    {static_cast<uint32_t>(random.Below(10))});
      plain.Apply(delta);
      map.Apply(delta);
    }
    ASSERT_EQ(map.version(), plain.version());
    ASSERT_EQ(ShardsOf(map.ToSnapshot()), plain.Shards());
  }
}

}  // namespace
}  // namespace shardmanager::discovery
