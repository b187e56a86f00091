#include "model/text.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {
namespace {

TEST(TextTest, EscapesWhateverIsNotPrintable) {
  EXPECT_EQ(Escaped("plain 7 ~"), "plain 7 ~");
  EXPECT_EQ(Escaped("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Escaped("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(Escaped("\"\\"), "\\\"\\\\");
  EXPECT_EQ(Escaped(std::string_view("\0", 1)), "\\x00");
}

TEST(TextTest, KeepsPrintableUtf8AndEscapesTheRestOfIt) {
  EXPECT_EQ(Escaped("caf\u00e9 \u4e2d \U0001f600"), "caf\u00e9 \u4e2d \U0001f600");
  EXPECT_EQ(Escaped("\xc2\x9b"), "\\xc2\\x9b") << "U+009B starts a terminal's escape sequence";
  EXPECT_EQ(Escaped("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Escaped("\xc3"), "\\xc3") << "cut off";
  EXPECT_EQ(Escaped("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(Escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(Escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "past U+10FFFF";
}

TEST(TextTest, LeavesSentencesReadable) {
  EXPECT_EQ(Printable("no \"kv\" in C:\\ \n\x1b"), "no \"kv\" in C:\\ \\n\\x1b");
}

TEST(TextTest, FindsWhereUtf8Ends) {
  EXPECT_EQ(ValidUtf8Bytes(""), 0u);
  EXPECT_EQ(ValidUtf8Bytes("caf\u00e9\x7f\u0085\U0001f600"), 12u);
  EXPECT_EQ(ValidUtf8Bytes("ab\xffz"), 2u);
  EXPECT_EQ(ValidUtf8Bytes("ab\xe4\xb8"), 2u);
}

TEST(TextTest, QuotesAndShortensWithoutCuttingACharacter) {
  EXPECT_EQ(Quoted(""), "\"\"");
  const std::string most(60, 'x');
  const std::string less(59, 'x');
  EXPECT_EQ(Quoted(most), absl::StrCat("\"", most, "\""));
  EXPECT_EQ(Quoted(absl::StrCat(most, "x")), absl::StrCat("\"", most, "...\""));
  EXPECT_EQ(Quoted(absl::StrCat(less, "\u00e9z")), absl::StrCat("\"", less, "...\""));
}

TEST(TextTest, WritesRangesWithTheirOpenEnds) {
  EXPECT_EQ(RangeText("a", "b"), "[\"a\", \"b\")");
  EXPECT_EQ(RangeText("", "b"), "[first key, \"b\")");
  EXPECT_EQ(RangeText("a", ""), "[\"a\", last key]");
}

TEST(TextTest, LabelsEnumValuesAsInYaml) {
  EXPECT_EQ(EnumLabel(v1::PRIMARY_ONLY), "primary-only");
  EXPECT_EQ(EnumLabel(static_cast<v1::OnPartition>(42)), "42");
  EXPECT_EQ(EnumLabels(*v1::FaultDomainLevel_descriptor()), "server, rack, datacenter, region");
}

TEST(TextTest, CountsInWords) {
  EXPECT_EQ(Counted(0, "shard"), "0 shards");
  EXPECT_EQ(Counted(1, "shard"), "1 shard");
  EXPECT_EQ(Counted(2, "shard"), "2 shards");
}

}  // namespace
}  // namespace shardmanager
