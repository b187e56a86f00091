// The example's spec keeps what its comments promise.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/yaml/yaml_to_proto.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/layout.h"
#include "model/spec/spec_validation.h"
#include "tests/golden/source_root.h"

namespace shardmanager::cli {
namespace {

v1::AppSpec KvSpec() {
  std::ifstream in(SourceRoot() / "examples/kvstore/kv.yaml");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  v1::AppSpec spec;
  const auto documents = ReadYaml(text, "kv.yaml", spec);
  EXPECT_TRUE(documents.ok()) << documents.status();
  if (documents.ok()) spec.CopyFrom(*documents->front().message);
  return spec;
}

TEST(KvSpecTest, IsValidAndNames120Shards) {
  const v1::AppSpec spec = KvSpec();
  EXPECT_TRUE(ToStatus(ValidateSpec(spec)).ok()) << ToStatus(ValidateSpec(spec));
  const auto layout = ExpandLayout(spec);
  ASSERT_EQ(layout.size(), 120u);
  EXPECT_EQ(layout.front().id, ShardId("shard-000"));
  EXPECT_EQ(layout.front().end, "Ann");
  EXPECT_EQ(layout.back().id, ShardId("shard-119"));
  EXPECT_EQ(layout.back().start, "wor");
}

TEST(KvSpecTest, SpreadsTheWordsOfTheQuickstartEvenly) {
  std::ifstream in("/usr/share/dict/words", std::ios::binary);
  if (!in) GTEST_SKIP() << "the list of words (package wamerican) is not installed";
  const auto layout = ExpandLayout(KvSpec());
  std::vector<int> words(layout.size());
  int all = 0;
  for (std::string word; std::getline(in, word); ++all) {
    const auto after = std::upper_bound(
        layout.begin(), layout.end(), word,
        [](const std::string& key, const LayoutShard& shard) { return key < shard.start; });
    ++words[static_cast<size_t>(after - layout.begin()) - 1];
  }
  const int fair = all / static_cast<int>(layout.size());
  EXPECT_GT(*std::min_element(words.begin(), words.end()), fair * 8 / 10);
  EXPECT_LT(*std::max_element(words.begin(), words.end()), fair * 12 / 10);
}

}  // namespace
}  // namespace shardmanager::cli
