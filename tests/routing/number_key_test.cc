#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "shardmanager/routing.h"

namespace shardmanager {
namespace {

using std::string_literals::operator""s;

TEST(NumberKeyTest, HasTheMostSignificantByteFirst) {
  EXPECT_EQ(NumberKey(1000), "\0\0\0\0\0\0\x03\xe8"s);
  EXPECT_EQ(NumberKey32(1000), "\0\0\x03\xe8"s);
  EXPECT_EQ(NumberKey(~uint64_t{0}), std::string(8, '\xff'));
}

TEST(NumberKeyTest, ComparesAsTheNumberDoes) {
  const std::vector<uint64_t> ascending = {
      0, 1, 127, 128, 255, 256, 65'535, 65'536, 1ull << 31, 1ull << 32, 1ull << 63, ~0ull};
  for (size_t i = 1; i < ascending.size(); ++i) {
    EXPECT_LT(NumberKey(ascending[i - 1]), NumberKey(ascending[i]));
    EXPECT_EQ(ParseNumberKey(NumberKey(ascending[i])), ascending[i]);
  }
}

TEST(NumberKeyTest, IsNoKeyOfAnotherLength) {
  EXPECT_EQ(ParseNumberKey(""), std::nullopt);
  EXPECT_EQ(ParseNumberKey(NumberKey32(1)), std::nullopt);
  EXPECT_EQ(ParseNumberKey(NumberKey(1) + "x"), std::nullopt);
}

}  // namespace
}  // namespace shardmanager
