#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/random.h"
#include "shardmanager/routing.h"
#include "tests/routing/keys.h"
#include "tests/routing/statistics.h"

namespace shardmanager::routing {
namespace {

std::string RandomKey(Random& random, size_t length) {
  std::string key(length, '\0');
  for (char& c : key) c = static_cast<char>(random.Below(256));
  return key;
}

// How often each bit of the hash differs when bit `flipped` of a random key does.
std::array<int, 64> CountDifferences(Random& random, size_t length, size_t flipped, int trials) {
  std::array<int, 64> differs{};
  for (int trial = 0; trial < trials; ++trial) {
    std::string key = RandomKey(random, length);
    const uint64_t before = KeyHash(key);
    key[flipped / 8] = static_cast<char>(key[flipped / 8] ^ (1 << (flipped % 8)));
    const uint64_t difference = before ^ KeyHash(key);
    for (size_t bit = 0; bit < differs.size(); ++bit) differs[bit] += difference >> bit & 1;
  }
  return differs;
}

TEST(KeyHashTest, EachBitOfTheKeyFlipsEachBitOfTheHashHalfTheTime) {
  constexpr int kTrials = 1'000;
  Random random(1);
  for (const size_t length : {4, 8, 13, 40}) {
    const double bound = BinomialBound(kTrials, 0.5, static_cast<double>(length) * 8 * 64);
    for (size_t flipped = 0; flipped < length * 8; ++flipped) {
      for (const int differs : CountDifferences(random, length, flipped, kTrials)) {
        EXPECT_NEAR(differs, kTrials / 2.0, bound) << length << " " << flipped;
      }
    }
  }
}

// Chi-square of the keys' hashes over 1,024 equal parts of all hashes, and over the residues.
void ExpectUniform(const std::vector<std::string>& keys) {
  constexpr size_t kParts = 1'024;
  std::vector<uint64_t> high(kParts), low(kParts);
  for (const std::string& key : keys) {
    const uint64_t hash = KeyHash(key);
    ++high[hash >> 54];
    ++low[hash % kParts];
  }
  const std::vector<double> expected(kParts, static_cast<double>(keys.size()) / kParts);
  EXPECT_LT(ChiSquare(high, expected), ChiSquareBound(kParts - 1));
  EXPECT_LT(ChiSquare(low, expected), ChiSquareBound(kParts - 1));
}

TEST(KeyHashTest, SpreadsRegularKeysUniformly) {
  ExpectUniform(CountedKeys(100'000));
  ExpectUniform(IntegerKeys(100'000));
}

TEST(KeyHashTest, TakesKeysOfAnyBytes) {
  EXPECT_NE(KeyHash(std::string("a\0b", 3)), KeyHash("a"));
  EXPECT_NE(KeyHash(std::string_view("\0", 1)), KeyHash(""));
}

}  // namespace
}  // namespace shardmanager::routing
