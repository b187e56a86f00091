// Every line of vectors.txt, which reference.py has made: another implementation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "shardmanager/routing.h"

namespace shardmanager {
namespace {

std::string Bytes(const std::string& text) {
  return text == "-" ? "" : absl::HexStringToBytes(text);
}

uint64_t ParseNumber(const std::string& text) {
  uint64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &number)) << text;
  return number;
}

std::vector<RoutedShard> Shards(const std::string& text) {
  std::vector<RoutedShard> shards;
  for (const std::string& shard : absl::StrSplit(text, ',').operator std::vector<std::string>()) {
    const std::vector<std::string> parts = absl::StrSplit(shard, '*');
    shards.push_back(
        {.id = ShardId(parts.at(0)), .weight = static_cast<uint32_t>(ParseNumber(parts.at(1)))});
  }
  return shards;
}

// `words`: the line up to "=".
std::string Compute(const std::vector<std::string>& words) {
  const std::string& function = words.at(0);
  if (function == "key_hash") return absl::StrFormat("%016x", KeyHash(Bytes(words.at(1))));
  if (function == "rendezvous") {
    return RendezvousHash::Make(Shards(words.at(1)))->Find(Bytes(words.at(2))).value();
  }
  if (function == "ring") {
    const auto nodes = static_cast<uint32_t>(ParseNumber(words.at(2)));
    return RingHash::Make(Shards(words.at(1)), nodes)->Find(Bytes(words.at(3))).value();
  }
  if (function == "entity_key") {
    return absl::BytesToHexString(EntityKey(Bytes(words.at(1)), ParseNumber(words.at(2))));
  }
  return absl::StrCat("no function ", function);
}

TEST(RoutingVectorsTest, AreThoseOfTheReference) {
  const char* source = std::getenv("SM_SOURCE_DIR");
  std::ifstream file(absl::StrCat(source ? source : ".", "/tests/routing/vectors.txt"));
  size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    const std::vector<std::string> sides = absl::StrSplit(line, " = ");
    ASSERT_EQ(sides.size(), 2u) << line;
    EXPECT_EQ(Compute(absl::StrSplit(sides[0], ' ')), sides[1]) << line;
    ++compared;
  }
  EXPECT_GT(compared, 100u);
}

}  // namespace
}  // namespace shardmanager
