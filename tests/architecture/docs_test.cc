#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_join.h"
#include "tests/architecture/doc_rules.h"
#include "tests/golden/source_root.h"

namespace shardmanager::architecture {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DocumentsTest, SpeakOfFilesThatExist) {
  const Tree documents = LoadDocuments(SourceRoot());
  ASSERT_GT(documents.size(), 10u);
  const Violations found = CheckDocumentPaths(documents, [](const std::string& path) {
    return std::filesystem::exists(SourceRoot() / path);
  });
  EXPECT_THAT(found, IsEmpty()) << absl::StrJoin(found, "\n");
}

TEST(DocumentsTest, SpeakOfTestsThatExist) {
  const Violations found = CheckDocumentTests(LoadDocuments(SourceRoot()), LoadTests(SourceRoot()));
  EXPECT_THAT(found, IsEmpty()) << absl::StrJoin(found, "\n");
}

TEST(DocumentsTest, SpeakOfNamesThatExist) {
  const Tree code = LoadTree(SourceRoot(), {"src", "include", "proto", "examples", "tests"});
  ASSERT_GT(code.size(), 400u);
  const Violations found = CheckDocumentNames(LoadDocuments(SourceRoot()), code);
  EXPECT_THAT(found, IsEmpty()) << absl::StrJoin(found, "\n");
}

TEST(DocumentRulesTest, RefusesNamesThatNoCodeHas) {
  const Tree code = {{"src/a.h", "class Book { void LetGo(); };\n"}};
  const Tree documents = {{"docs/a.md", "`Book::LetGo` `Book::LetGo()` `a::Book::StayOff`\n"}};
  EXPECT_THAT(CheckDocumentNames(documents, code),
              ElementsAre("docs/a.md:1: no code says StayOff"));
}

TEST(DocumentRulesTest, RefusesDeadLinksAndPaths) {
  const Tree documents = {
      {"docs/a.md",
       "[good](../README.md#there) [web](https://example.org/x)\n"
       "[bad](gone.md) `src/base/time.h` `src/wire/discovery_*` `src/gone.h`\n"}};
  const auto exists = [](const std::string& path) {
    return path == "README.md" || path == "src/base/time.h";
  };
  EXPECT_THAT(
      CheckDocumentPaths(documents, exists),
      ElementsAre("docs/a.md:2: gone.md does not exist", "docs/a.md:2: src/gone.h does not exist"));
}

TEST(DocumentRulesTest, RefusesTestsThatAreNot) {
  const Tree tests = {{"tests/a_test.cc", "TEST(ATest, Holds) {\nTEST_F(BTest,Works) {\n"}};
  const Tree documents = {{"docs/a.md", "`ATest.Holds` `BTest.Works` `ATest.*` `ATest.Gone`\n"}};
  EXPECT_THAT(CheckDocumentTests(documents, tests),
              ElementsAre("docs/a.md:1: there is no test ATest.Gone"));
}

TEST(DocumentsTest, HaveARunbookForEachAlert) {
  const Tree rules = LoadAlertRules(SourceRoot());
  ASSERT_FALSE(rules.empty());
  const Violations found = CheckRunbooks(rules, LoadDocuments(SourceRoot()));
  EXPECT_THAT(found, IsEmpty()) << absl::StrJoin(found, "\n");
}

TEST(DocumentRulesTest, RefusesAlertsWithoutRunbooksAndRunbooksWithoutAlerts) {
  const Tree documents = {
      {"docs/a.md",
       "### ShardManagerGood\n\nDo this.\n### ShardManagerEmpty\n\n## ShardManagerGone\nText\n"}};
  const Tree rules = {{"deploy/r.yml",
                       "  - alert: ShardManagerGood\n"
                       "      runbook_url: \"docs/a.md#shardmanagergood\"\n"
                       "  - alert: ShardManagerEmpty\n"
                       "      runbook_url: \"docs/a.md#shardmanagerempty\"\n"
                       "  - alert: ShardManagerNone\n"
                       "  - alert: ShardManagerOther\n"
                       "      runbook_url: \"docs/a.md#shardmanagergood\"\n"}};
  EXPECT_THAT(
      CheckRunbooks(rules, documents),
      ElementsAre(
          "deploy/r.yml: ShardManagerEmpty has no runbook at \"docs/a.md#shardmanagerempty\"",
          "deploy/r.yml: ShardManagerNone has no runbook at \"\"",
          "deploy/r.yml: ShardManagerOther has no runbook at \"docs/a.md#shardmanagergood\"",
          "docs/a.md#shardmanagerempty: no alert with this name has its runbook there",
          "docs/a.md#shardmanagergone: no alert with this name has its runbook there"));
}

}  // namespace
}  // namespace shardmanager::architecture
