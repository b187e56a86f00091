#include "router/key_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "router/code_tree.h"

namespace shardmanager::router {
namespace {

TEST(CodeTreeTest, CountsWhatIsNotAboveAtEverySize) {
  for (size_t size = 0; size <= 2'000; size = size < 20 ? size + 1 : size + 37) {
    std::vector<uint64_t> codes;
    for (size_t i = 0; i < size; ++i) codes.push_back(10 + 10 * i);
    const CodeTree tree(codes);
    for (uint64_t x = 0; x <= 10 * size + 20; x += 5) {
      const CodeTree::Found found = tree.Find(x);
      const auto end = std::upper_bound(codes.begin(), codes.end(), x);
      ASSERT_EQ(found.count, static_cast<size_t>(end - codes.begin())) << size << " " << x;
      ASSERT_EQ(found.contains, std::binary_search(codes.begin(), codes.end(), x)) << x;
    }
  }
}

TEST(CodeTreeTest, TakesNumbersOfAllMagnitudes) {
  const std::vector<uint64_t> codes = {0, 1, uint64_t{1} << 63,
                                       std::numeric_limits<uint64_t>::max() - 1};
  const CodeTree tree(codes);
  EXPECT_EQ(tree.Find(0).count, 1u);
  EXPECT_EQ(tree.Find((uint64_t{1} << 63) - 1).count, 2u);
  EXPECT_EQ(tree.Find(uint64_t{1} << 63).count, 3u);
  EXPECT_EQ(tree.Find(std::numeric_limits<uint64_t>::max() - 1).count, 4u);
}

// The simple second implementation: std::set with unsigned bytes.
class Checked {
 public:
  explicit Checked(std::set<std::string> strings)
      : strings_(strings.begin(), strings.end()),
        table_(std::vector<std::string_view>(strings_.begin(), strings_.end())) {}

  void Check(const std::string& key) const {
    // std::string compares as unsigned bytes, as keys do.
    const auto end = std::upper_bound(strings_.begin(), strings_.end(), key);
    ASSERT_EQ(table_.CountUpTo(key), static_cast<size_t>(end - strings_.begin()))
        << "key \"" << testing::PrintToString(key) << "\" among " << strings_.size();
  }
  size_t nested() const { return table_.nested(); }
  // The strings themselves, and what is just beside them.
  void CheckAround() const {
    Check("");
    Check(std::string(1, '\xff'));
    for (const std::string& string : strings_) {
      Check(string);
      Check(string + '\0');
      Check(string + "\xff\xff\xff\xff\xff\xff\xff\xff\xff");
      if (string.empty()) continue;
      Check(string.substr(0, string.size() - 1));
      std::string other = string;
      ++other.back();
      Check(other);
      other.back() = static_cast<char>(other.back() - 2);
      Check(other);
    }
  }

 private:
  std::vector<std::string> strings_;
  KeyTable table_;
};

TEST(KeyTableTest, AnEmptyTableHoldsNothing) {
  const KeyTable table({});
  EXPECT_EQ(table.CountUpTo(""), 0u);
  EXPECT_EQ(table.CountUpTo("anything at all"), 0u);
}

TEST(KeyTableTest, KeysBeforeTheFirstStringCountZero) {
  Checked({"m", "n"}).CheckAround();
  Checked({"prefix/aaaaaaaaaa", "prefix/bbbbbbbbbb"}).CheckAround();
}

TEST(KeyTableTest, TheEmptyStringIsNotAboveAnyKey) {
  Checked({""}).CheckAround();
  Checked({"", "user:0001", "user:0002"}).CheckAround();
}

TEST(KeyTableTest, TellsStringsApartThatDifferOnlyInZeroBytesAndLength) {
  using namespace std::string_literals;
  Checked({"a", "a\0"s, "a\0\0"s, "a\0\0\0\0\0\0"s, "a\0\0\0\0\0\0\0"s, "a\0\0\0\0\0\0\0\0"s, "b"})
      .CheckAround();
}

TEST(KeyTableTest, BytesFrom128AreAboveTheOthers) {
  Checked({"\x01", "\x7f", "\x80", "\xc3\xa9", "\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"})
      .CheckAround();
}

TEST(KeyTableTest, StringsAroundTheLengthOfACode) {
  std::set<std::string> strings;
  for (size_t length = 1; length <= 20; ++length) {
    strings.insert(std::string(length, 'x'));
    strings.insert("p" + std::string(length, 'y'));
  }
  Checked(strings).CheckAround();
}

TEST(KeyTableTest, ManyStringsThatShareACodeAreNested) {
  std::set<std::string> strings;
  for (const char* region : {"customer:eu-west:", "customer:us-east:", "customer:us-west:"}) {
    for (int i = 0; i < 300; ++i) strings.insert(region + std::to_string(1'000'000 + i));
  }
  Checked(strings).CheckAround();
}

// The cost of a lookup depends on it: a nested table means a second search.
TEST(KeyTableTest, FewStringsThatShareACodeAreNotNested) {
  std::set<std::string> strings;
  for (int i = 0; i < 16; ++i) strings.insert("customer:" + std::to_string(10 + i));
  strings.insert("zone");
  EXPECT_EQ(Checked(strings).nested(), 0u);
  strings.insert("customer:26");
  EXPECT_EQ(Checked(strings).nested(), 1u);
}

// As in most maps: the first shard starts at "", and the others have a prefix in common.
TEST(KeyTableTest, AnEmptyFirstStringDoesNotKeepTheCommonPrefix) {
  std::set<std::string> strings = {""};
  for (int i = 1'000; i < 1'400; ++i) strings.insert("user:" + std::to_string(i));
  const Checked checked(strings);
  EXPECT_EQ(checked.nested(), 0u);
  checked.CheckAround();
}

TEST(KeyTableTest, OneLongStringIsNotLimitedByWhatPacks) {
  Checked({"aaaaaaaa" + std::string(1'000, 'b'), "aaaaaaaa" + std::string(1'000, 'c'), "z"})
      .CheckAround();
}

TEST(KeyTablePropertyTest, FindsWhatABinarySearchFinds) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    // Few different bytes and shared fronts make ties; long ones make nests.
    const std::string alphabets[] = {"ab", std::string("a\0\xff\x80", 4), "0123456789"};
    const std::string& alphabet = alphabets[random.Below(3)];
    const uint64_t longest = 1 + random.Below(30);
    const std::string front(random.Below(12), 'f');
    const auto word = [&] {
      std::string word = random.Below(20) == 0 ? "" : front;
      for (uint64_t i = random.Below(longest); i > 0; --i) {
        word += alphabet[random.Below(alphabet.size())];
      }
      return word;
    };
    std::set<std::string> strings;
    for (uint64_t i = random.Below(400); i > 0; --i) strings.insert(word());
    const Checked checked(strings);
    checked.CheckAround();
    for (int i = 0; i < 200; ++i) checked.Check(word());
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shardmanager::router
