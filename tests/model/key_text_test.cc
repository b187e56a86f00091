#include "model/keys/key_text.h"

#include <string>

#include "gtest/gtest.h"
#include "model/text.h"

namespace shardmanager {
namespace {

using std::string_literals::operator""s;

TEST(KeyTextTest, ReadsTextAndEscapesOfBytes) {
  EXPECT_EQ(KeyFromText(""), "");
  EXPECT_EQ(KeyFromText("caf\u00e9 \"x\""), "caf\u00e9 \"x\"");
  EXPECT_EQ(KeyFromText("\\x80\\xFf\\x00z"), "\x80\xff\0z"s);
  EXPECT_EQ(KeyFromText("\\\\x80 \\n\\r\\t\\\""), "\\x80 \n\r\t\"");
}

TEST(KeyTextTest, RefusesOtherBackslashesAndWhatIsNotUtf8) {
  for (const char* text : {"\\", "a\\", "\\x", "\\x8", "\\x8g", "\\u00e9", "C:\\users", "\\0"}) {
    EXPECT_EQ(KeyFromText(text), std::nullopt) << text;
  }
  EXPECT_EQ(KeyFromText("\x80"), std::nullopt);
}

TEST(KeyTextTest, ReadsWhateverEscapedWrites) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(KeyFromText(Escaped(all)), all);
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string key{static_cast<char>(first), static_cast<char>(second)};
      ASSERT_EQ(KeyFromText(Escaped(key)), key) << first << " " << second;
    }
  }
}

TEST(KeyTextTest, ReadsDigitsOfBytes) {
  EXPECT_EQ(KeyFromForm("hex", "80fF00"), "\x80\xff\0"s);
  EXPECT_EQ(KeyFromForm("hex", ""), "");
  EXPECT_EQ(KeyFromForm("hex", "8"), std::nullopt);
  EXPECT_EQ(KeyFromForm("hex", "0x80"), std::nullopt);
  EXPECT_EQ(KeyFromForm("binary", "gP8A"), "\x80\xff\0"s);
  EXPECT_EQ(KeyFromForm("binary", "gA=="), "\x80");
  EXPECT_EQ(KeyFromForm("binary", "gA"), std::nullopt) << "without padding";
  EXPECT_EQ(KeyFromForm("binary", "gB=="), std::nullopt) << "bits that are no byte's";
  EXPECT_EQ(KeyFromForm("binary", "g A="), std::nullopt);
  EXPECT_EQ(KeyFromForm("rot13", "80"), std::nullopt);
}

TEST(KeyTextTest, ReadsNumbersWithTheMostSignificantByteFirst) {
  EXPECT_EQ(KeyFromForm("u64", "1000"), "\0\0\0\0\0\0\x03\xe8"s);
  EXPECT_EQ(KeyFromForm("u64", "18446744073709551615"), std::string(8, '\xff'));
  EXPECT_EQ(KeyFromForm("u64", "18446744073709551616"), std::nullopt);
  EXPECT_EQ(KeyFromForm("u32", "4294967295"), std::string(4, '\xff'));
  EXPECT_EQ(KeyFromForm("u32", "4294967296"), std::nullopt);
  EXPECT_EQ(KeyFromForm("u16", "258"), "\x01\x02");
  EXPECT_EQ(KeyFromForm("u16", "65536"), std::nullopt);
  for (const char* text : {"", "-1", "+1", " 1", "1.0", "0x10", "1e3"}) {
    EXPECT_EQ(KeyFromForm("u64", text), std::nullopt) << text;
  }
  EXPECT_EQ(KeyFormRule("u16"), "a whole number from 0 to 65535");
  EXPECT_EQ(KeyFormRule("u64"), "a whole number from 0 to 18446744073709551615");
}

TEST(KeyTextTest, KnowsWhatCouldBeANumber) {
  for (const char* text : {"4", "-1", "007", "1e3", "1.5", ".5", "0x80", "0o17"}) {
    EXPECT_TRUE(LooksLikeNumber(text)) << text;
  }
  for (const char* text : {"", "c", "4c", "2001-01-01", "0x", "0xg", "nan", "inf", "1.2.3"}) {
    EXPECT_FALSE(LooksLikeNumber(text)) << text;
  }
}

}  // namespace
}  // namespace shardmanager
