#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "shardmanager/routing.h"

namespace shardmanager {
namespace {

// Of few bytes, those that mean something in keys among them: many are prefixes of others.
std::string RandomEntity(Random& random) {
  constexpr std::string_view kBytes("\0\1\2z0a", 6);
  std::string entity(random.Below(4), '\0');
  for (char& c : entity) c = kBytes[random.Below(kBytes.size())];
  return entity;
}

std::vector<EntityBucket> RandomPairs(uint64_t seed) {
  Random random(seed);
  std::vector<EntityBucket> pairs;
  for (int i = 0; i < 300; ++i) {
    pairs.push_back(
        {RandomEntity(random), random.Below(2) == 0 ? random.Below(20) : random.Next()});
  }
  return pairs;
}

TEST(EntityKeyTest, KeepsTheOrderOfEntityThenBucket) {
  const auto pairs = RandomPairs(1);
  for (const EntityBucket& a : pairs) {
    for (const EntityBucket& b : pairs) {
      EXPECT_EQ(std::tie(a.entity, a.bucket) < std::tie(b.entity, b.bucket),
                EntityKey(a.entity, a.bucket) < EntityKey(b.entity, b.bucket));
    }
  }
}

TEST(EntityKeyTest, TellsWhatItWasMadeOf) {
  for (const EntityBucket& pair : RandomPairs(2)) {
    EXPECT_EQ(ParseEntityKey(EntityKey(pair.entity, pair.bucket)), pair);
  }
}

TEST(EntityKeyTest, HasTheKeysOfAnEntityAndNoOtherBetweenPrefixAndEnd) {
  const auto pairs = RandomPairs(3);
  for (const EntityBucket& a : pairs) {
    for (const EntityBucket& b : pairs) {
      const std::string key = EntityKey(b.entity, b.bucket);
      EXPECT_EQ(key >= EntityPrefix(a.entity) && key < EntityEnd(a.entity), a.entity == b.entity);
      EXPECT_EQ(key.starts_with(EntityPrefix(a.entity)), a.entity == b.entity);
    }
  }
}

TEST(EntityKeyTest, IsReadable) {
  constexpr std::string_view kKey(
      "sensor-7\0\1"
      "0000000000000abc",
      26);
  EXPECT_EQ(EntityKey("sensor-7", 0xabc), kKey);
}

TEST(EntityKeyTest, RefusesOtherKeys) {
  const std::string key = EntityKey("sensor-7", 0xabc);
  for (size_t length = 0; length < key.size(); ++length) {
    EXPECT_EQ(ParseEntityKey(key.substr(0, length)), std::nullopt) << length;
  }
  EXPECT_EQ(ParseEntityKey(key + "0"), std::nullopt);
  for (const char digit : {'A', 'g', '/', ':', '`', ' '}) {
    std::string other = key;
    other.back() = digit;
    EXPECT_EQ(ParseEntityKey(other), std::nullopt) << digit;
  }
  std::string escape = key;
  escape[9] = '\3';
  EXPECT_EQ(ParseEntityKey(escape), std::nullopt);
}

}  // namespace
}  // namespace shardmanager
