#include "cli/table.h"

#include "gtest/gtest.h"

namespace shardmanager::cli {
namespace {

TEST(TableTest, AlignsColumnsByTheirWidestCell) {
  Table table({"NAME", "STATE", "REASON"});
  table.AddRow({{"kv-1"}, {"live"}, {""}});
  table.AddRow({{"a-long-name"}, {""}, {"gone"}});
  EXPECT_EQ(table.Render(false),
            "NAME          STATE   REASON\n"
            "kv-1          live\n"
            "a-long-name   -       gone\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  Table table({"KEY", "N"});
  table.AddRow({{"\u00e9t\u00e9!"}, {"1"}});
  EXPECT_EQ(table.Render(false), "KEY    N\n\u00e9t\u00e9!   1\n");
}

TEST(TableTest, PaintsWithoutMovingColumns) {
  Table table({"STATE", "N"});
  table.AddRow({{"lost", Tone::kBad}, {"1"}});
  table.AddRow({{"live", Tone::kGood}, {"2"}});
  EXPECT_EQ(table.Render(true),
            "STATE   N\n"
            "\x1b[31mlost\x1b[0m    1\n"
            "\x1b[32mlive\x1b[0m    2\n");
}

TEST(TableTest, IndentsEveryLine) {
  Table table({"A"});
  table.AddRow({{"1"}});
  EXPECT_EQ(table.Render(false, "  "), "  A\n  1\n");
}

TEST(FieldListTest, AlignsValuesAndLeavesEmptyOnesOut) {
  FieldList fields(false);
  fields.Add("App", "kv");
  fields.Add("Reason", "");
  fields.Add("Map version", "3.1");
  EXPECT_EQ(fields.Render(), "App:          kv\nMap version:  3.1\n");
}

}  // namespace
}  // namespace shardmanager::cli
