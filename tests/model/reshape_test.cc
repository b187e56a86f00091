#include "model/keys/reshape.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/layout.h"
#include "model/spec/spec_validation.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::AppSpec Spec(const std::vector<std::string>& points) {
  v1::AppSpec spec = SpecWith("");
  spec.mutable_key_space()->Clear();
  for (const std::string& point : points) spec.mutable_key_space()->add_split_points(point);
  return spec;
}

v1::ReshapeShardsRequest Request(const std::vector<std::string>& from,
                                 const std::vector<std::string>& cuts,
                                 const std::vector<std::string>& into = {}) {
  v1::ReshapeShardsRequest request;
  for (const std::string& shard : from) request.add_from(shard);
  for (const std::string& cut : cuts) request.add_cuts(cut);
  for (const std::string& name : into) request.add_into(name);
  return request;
}

std::vector<std::string> LayoutOf(const v1::AppSpec& spec) {
  std::vector<std::string> layout;
  for (const LayoutShard& shard : ExpandLayout(spec)) {
    layout.push_back(shard.id.value() + " " + shard.start + "-" + shard.end);
  }
  return layout;
}

std::string Refusal(const v1::AppSpec& spec, const v1::ReshapeShardsRequest& request) {
  const auto reshape = MakeReshape(spec, request);
  return reshape.ok() ? "none" : reshape.status().ToString();
}

TEST(ReshapeTest, SplitsAShardAndLeavesTheOthersTheirNames) {
  const v1::AppSpec spec = Spec({"g", "n"});
  const auto reshape = MakeReshape(spec, Request({"shard-1"}, {"i", "k"}));
  ASSERT_TRUE(reshape.ok()) << reshape.status();
  EXPECT_EQ(ReshapeText(*reshape), "shard-1 into shard-1.0, shard-1.1, shard-1.2");
  const v1::AppSpec after = WithReshape(spec, *reshape);
  EXPECT_THAT(LayoutOf(after), ElementsAre("shard-0 -g", "shard-1.0 g-i", "shard-1.1 i-k",
                                           "shard-1.2 k-n", "shard-2 n-"));
  EXPECT_TRUE(ValidateSpec(after).empty());
  EXPECT_TRUE(HasShardsOf(after, *reshape));
  EXPECT_FALSE(HasShardsOf(spec, *reshape));
}

TEST(ReshapeTest, MergesNeighboursWhateverTheirOrderInTheRequest) {
  const v1::AppSpec spec = Spec({"g", "n"});
  const auto reshape = MakeReshape(spec, Request({"shard-2", "shard-1"}, {}, {"rest"}));
  ASSERT_TRUE(reshape.ok()) << reshape.status();
  EXPECT_EQ(ReshapeText(*reshape), "shard-1, shard-2 into rest");
  EXPECT_THAT(LayoutOf(WithReshape(spec, *reshape)), ElementsAre("shard-0 -g", "rest g-"));
}

TEST(ReshapeTest, IsTakenBackByItsOpposite) {
  const v1::AppSpec spec = Spec({"g", "n"});
  for (const auto& request :
       {Request({"shard-0"}, {"c"}), Request({"shard-1", "shard-0"}, {}, {"x"})}) {
    const auto reshape = MakeReshape(spec, request);
    ASSERT_TRUE(reshape.ok()) << reshape.status();
    EXPECT_EQ(LayoutOf(WithReshape(WithReshape(spec, *reshape), Undone(*reshape))), LayoutOf(spec));
  }
}

TEST(ReshapeTest, CutsHashesAndAnyBytes) {
  v1::AppSpec hashed = Spec({});
  hashed.mutable_key_space()->set_hash_shards(2);
  const auto split = MakeReshape(hashed, Request({"shard-0"}, {"4"}));
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_TRUE(split->hash_keys());
  EXPECT_THAT(LayoutOf(WithReshape(hashed, *split)),
              ElementsAre("shard-0.0 -4", "shard-0.1 4-8", "shard-1 8-"));
  EXPECT_THAT(Refusal(hashed, Request({"shard-0"}, {"xyz"})), HasSubstr("allowed: "));
  const auto bytes = MakeReshape(Spec({"g"}), Request({"shard-1"}, {"\x80"}));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(bytes->to(1).range().start(), "\x80");
}

TEST(ReshapeTest, KeepsTheRegionThatShardsAskForBySelf) {
  v1::AppSpec spec = Spec({});
  spec.mutable_placement()->add_regions("eu");
  spec.mutable_placement()->add_regions("us");
  for (const char* id : {"a", "b"}) {
    v1::Shard& shard = *spec.mutable_key_space()->add_shards();
    shard.set_id(id);
    shard.set_preferred_region("eu");
    shard.mutable_range();
  }
  spec.mutable_key_space()->mutable_shards(0)->mutable_range()->set_end("m");
  spec.mutable_key_space()->mutable_shards(1)->mutable_range()->set_start("m");
  EXPECT_EQ(MakeReshape(spec, Request({"a"}, {"c"}))->to(1).preferred_region(), "eu");
  EXPECT_EQ(MakeReshape(spec, Request({"a", "b"}, {}, {"c"}))->to(0).preferred_region(), "eu");
  spec.mutable_key_space()->mutable_shards(1)->set_preferred_region("us");
  EXPECT_EQ(MakeReshape(spec, Request({"a", "b"}, {}, {"c"}))->to(0).preferred_region(), "");
}

TEST(ReshapeTest, SaysWhatIsWrong) {
  const v1::AppSpec spec = Spec({"g", "n"});
  EXPECT_THAT(Refusal(spec, Request({"shard-7"}, {"c"})),
              HasSubstr("NOT_FOUND: app \"kv\" has no shard \"shard-7\""));
  EXPECT_THAT(Refusal(spec, Request({"shard-1"}, {})), HasSubstr("cuts: found 0 cuts; allowed: 1"));
  EXPECT_THAT(Refusal(spec, Request({"shard-1"}, {"g"})),
              HasSubstr("cuts[0]: found \"g\"; allowed: a key after \"g\" and before \"n\""));
  EXPECT_THAT(Refusal(spec, Request({"shard-1"}, {"k", "i"})),
              HasSubstr("cuts[1]: found \"i\"; allowed: a key after \"k\" and before \"n\""));
  EXPECT_THAT(Refusal(spec, Request({"shard-1"}, {"z"})), HasSubstr("cuts[0]: found \"z\""));
  EXPECT_THAT(Refusal(spec, Request({"shard-0", "shard-2"}, {}, {"x"})),
              HasSubstr("from: found \"shard-0\" and \"shard-2\", with other shards between them"));
  EXPECT_THAT(Refusal(spec, Request({"shard-0", "shard-0"}, {}, {"x"})), HasSubstr("twice"));
  EXPECT_THAT(Refusal(spec, Request({"shard-0", "shard-1"}, {})),
              HasSubstr("into: found 0 names; allowed: 1, to merge shards"));
  EXPECT_THAT(Refusal(spec, Request({"shard-0", "shard-1"}, {"c"}, {"x"})),
              HasSubstr("cuts: found \"c\"; allowed: nothing, to merge shards"));
  EXPECT_THAT(Refusal(spec, Request({"shard-0"}, {"c"}, {"a", "shard-2"})),
              HasSubstr("into: found \"shard-2\", which is a shard's id"));
  EXPECT_THAT(Refusal(spec, Request({"shard-0"}, {"c"}, {"a", "b/c"})),
              HasSubstr("into: found \"b/c\""));
  EXPECT_THAT(Refusal(spec, Request({}, {})), HasSubstr("from: found 0 shards; allowed: 1 to 16"));
}

TEST(ReshapeTest, RefusesShardsThatHaveNoKeys) {
  v1::AppSpec spec = Spec({});
  spec.mutable_key_space()->add_shards()->set_id("a");
  EXPECT_THAT(Refusal(spec, Request({"a"}, {"c"})), HasSubstr("addresses its shards by id"));
}

}  // namespace
}  // namespace shardmanager
