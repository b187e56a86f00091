#include "orchestrator/shell/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::StoredSpec WithPins(std::initializer_list<const char*> shards) {
  v1::StoredSpec spec;
  for (const char* shard : shards) spec.add_pins()->set_shard(shard);
  return spec;
}

TEST(DifferenceTest, SaysWhatWasAndWhatIs) {
  v1::StoredSpec before = WithPins({"a", "b"});
  before.mutable_pause()->set_reason("old");
  v1::StoredSpec after = WithPins({"b", "c"});
  after.mutable_pause()->set_reason("new");
  after.set_deleting(true);
  EXPECT_THAT(DifferenceOf(before, after),
              ElementsAre("+ deleting true", "+ pause reason: \"new\"", "- pause reason: \"old\"",
                          "+ pins shard: \"c\"", "- pins shard: \"a\""));
}

TEST(DifferenceTest, OrderIsNoDifferenceAndWhatIsLeftOutIsNone) {
  v1::StoredSpec after = WithPins({"b", "a"});
  after.mutable_spec()->set_name("kv");
  EXPECT_THAT(DifferenceOf(WithPins({"a", "b"}), after, "spec"), IsEmpty());
}

TEST(DifferenceTest, LongValuesAndManyLinesAreCut) {
  v1::StoredSpec after;
  for (int i = 0; i < 100; ++i)
    after.add_pins()->set_shard(std::string(1'000, 'x') + std::to_string(i));
  const auto lines = DifferenceOf(v1::StoredSpec(), after);
  ASSERT_THAT(lines, SizeIs(51));
  EXPECT_LT(lines.front().size(), 400u);
  EXPECT_EQ(lines.back(), "and 50 lines more");

  v1::StoredSpec large;
  auto& region = *large.mutable_preferences()->add_regions();
  for (int i = 0; i < 5'000; ++i) region.add_shards("shard-" + std::to_string(i));
  EXPECT_THAT(DifferenceOf(v1::StoredSpec(), large), ElementsAre(HasSubstr("bytes, of hash")));
}

}  // namespace
}  // namespace shardmanager::orchestrator
