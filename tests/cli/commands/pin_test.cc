// `shardctl pin shard` and `shardctl unpin shard`, and where pins are shown.
#include <cstdlib>

#include "gmock/gmock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PinCommandTest : public ShardctlTest {};

TEST_F(PinCommandTest, PinsWithAReasonAndSaysWhatHoldsThen) {
  EXPECT_EQ(Run({"pin", "shard", "shard-3", "--app", "kv", "--reason", "repair"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre(StartsWith("PinShard{app: \"kv\" pin { shard: "
                                                        "\"shard-3\" reason: \"repair\"")));
  EXPECT_EQ(out_, "shard-3 stays where it is; what is lost is failed over\n");
}

TEST_F(PinCommandTest, UnpinsAndSaysWhoAsks) {
  setenv("USER", "jo", /*overwrite=*/1);
  EXPECT_EQ(Run({"unpin", "shard", "shard-3", "--app", "kv"}), kOk);
  EXPECT_THAT(admin_.requests(),
              ElementsAre("UnpinShard{app: \"kv\" shard: \"shard-3\" who: \"jo\"}"));
  EXPECT_EQ(out_, "shard-3 may move again\n");
}

TEST_F(PinCommandTest, OnlyShardsCanBePinned) {
  EXPECT_EQ(Run({"pin", "app", "kv"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("found \"app\"; allowed: shard"));
}

TEST_F(PinCommandTest, AShardThatIsPinnedSaysSo) {
  v1::ShardStatus& shard = *admin_.shards.add_shards();
  shard.set_shard("shard-3");
  v1::Pin& pin = *shard.mutable_pin();
  pin.set_shard("shard-3");
  pin.set_who("jo");
  pin.set_reason("repair");
  EXPECT_EQ(Run({"describe", "shard", pin.shard(), "--app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("pinned since 1970-01-01T00:00:00.000Z, by jo: repair\n"));
}

}  // namespace
}  // namespace shardmanager::cli
