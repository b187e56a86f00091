#include "cli/suggest.h"

#include "gtest/gtest.h"

namespace shardmanager::cli {
namespace {

TEST(SuggestTest, CountsTypingErrors) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("shards", "shards"), 0u);
  EXPECT_EQ(EditDistance("shads", "shards"), 1u) << "left out";
  EXPECT_EQ(EditDistance("sharrds", "shards"), 1u) << "added";
  EXPECT_EQ(EditDistance("sharts", "shards"), 1u) << "changed";
  EXPECT_EQ(EditDistance("shrads", "shards"), 1u) << "swapped";
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(SuggestTest, FindsTheNearestCandidate) {
  const std::vector<std::string> fields = {"regions", "replicas", "replication"};
  EXPECT_EQ(Suggest("replcas", fields), "replicas");
  EXPECT_EQ(Suggest("region", fields), "regions");
  EXPECT_EQ(Suggest("replicaton", fields), "replication");
}

TEST(SuggestTest, KnowsOtherSpellingsOfTheSameWords) {
  EXPECT_EQ(Suggest("keySpace", {"name", "key_space"}), "key_space");
  EXPECT_EQ(Suggest("KEY-SPACE", {"name", "key_space"}), "key_space");
}

TEST(SuggestTest, IsSilentAboutOtherWords) {
  EXPECT_EQ(Suggest("colour", {"name", "key_space"}), "");
  EXPECT_EQ(Suggest("x", {"name"}), "");
  EXPECT_EQ(Suggest("", {"name"}), "");
  EXPECT_EQ(Suggest(std::string(10'000, 'n'), {"name"}), "");
}

}  // namespace
}  // namespace shardmanager::cli
