// Holds the repository to the rules of tables.h, and each rule to snippets that it must refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <regex>
#include <string>

#include "absl/strings/str_join.h"
#include "tests/architecture/outline.h"
#include "tests/architecture/rules.h"
#include "tests/architecture/size_rules.h"
#include "tests/golden/source_root.h"

namespace shardmanager::architecture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- The repository.

const Tree& Repository() {
  static const Tree tree = LoadTree(SourceRoot(), {"src", "include", "proto", "examples"});
  return tree;
}

// The product together with its tests and benchmarks.
const Tree& AllCode() {
  static const Tree tree =
      LoadTree(SourceRoot(), {"src", "include", "proto", "examples", "tests", "bench"});
  return tree;
}

const LargeTable kLargeNow(kLarge.begin(), kLarge.end());

void ExpectNone(const Violations& violations) {
  EXPECT_THAT(violations, IsEmpty()) << absl::StrJoin(violations, "\n");
}

TEST(RepositoryTest, IsSeen) {
  EXPECT_GT(Repository().size(), 400u) << "run through ctest, or set SM_SOURCE_DIR";
  EXPECT_GT(Targets(Repository()).size(), 4u);
  EXPECT_TRUE(PureFiles(Repository()).contains("src/base/random.h"));
  size_t functions = 0;
  for (const File& file : AllCode()) {
    if (IsCpp(file.path)) functions += OutlineOf(file.text).functions.size();
  }
  EXPECT_GT(functions, 4'000u);
  EXPECT_GT(AllCode().size(), Repository().size() + 200);
}
TEST(RepositoryTest, KnowsEachMeasureOfTheTableOfLargeThings) {
  for (const Large& row : kLarge) {
    EXPECT_THAT(std::string(row.measure),
                testing::AnyOf("methods", "fields", "lines", "lines of code", "modules"))
        << row.name;
  }
}
TEST(RepositoryTest, IncludesPointDownward) { ExpectNone(CheckIncludeDirections(Repository())); }
TEST(RepositoryTest, ForeignHeadersStayWhereTheyBelong) {
  ExpectNone(CheckForeignIncludes(Repository()));
}
TEST(RepositoryTest, UsersNeedPublicHeadersOnly) { ExpectNone(CheckPublicSurface(Repository())); }
TEST(RepositoryTest, CoresLinkNothingThatActs) { ExpectNone(CheckCoreLinks(Repository())); }
TEST(RepositoryTest, DepsNameWhatIsIncluded) { ExpectNone(CheckDepsCoverIncludes(Repository())); }
TEST(RepositoryTest, MakesNoBannedCalls) { ExpectNone(CheckBannedCalls(Repository())); }
TEST(RepositoryTest, ProtoFieldsAreDocumented) { ExpectNone(CheckProtoComments(Repository())); }
TEST(RepositoryTest, SpeaksTheGlossary) { ExpectNone(CheckGlossary(Repository())); }
TEST(RepositoryTest, ClassesStaySmall) { ExpectNone(CheckClassSizes(AllCode(), kLargeNow)); }
TEST(RepositoryTest, FunctionsStayShort) { ExpectNone(CheckFunctionLengths(AllCode(), kLargeNow)); }
TEST(RepositoryTest, FilesStaySmall) { ExpectNone(CheckFileSizes(AllCode(), kLargeNow)); }
TEST(RepositoryTest, FoldersStaySmall) { ExpectNone(CheckFolderSizes(AllCode(), kLargeNow)); }

// ---- The rules.

Tree SmallHouse() {
  return {
      {"src/base/time.h", ""},
      {"src/discovery/CMakeLists.txt",
       "sm_library(sm_discovery_core SOURCES diff.cc DEPS sm_base)\n"
       "sm_library(sm_discovery SOURCES publisher.cc DEPS sm_discovery_core)"},
      {"src/discovery/diff.cc", "#include \"discovery/diff.h\"\n"},
      {"src/discovery/diff.h", ""},
      {"src/discovery/publisher.cc",
       "#include \"discovery/publisher.h\"\n#include \"base/time.h\"\n"},
      {"src/discovery/publisher.h", "#include \"discovery/diff.h\"\n"},
      {"src/orchestrator/shell/driver.h", "#include \"base/time.h\"\n"},
      {"src/wire/services.h", "#include <grpcpp/grpcpp.h>\n"},
  };
}

Tree With(std::string path, std::string text) {
  Tree tree = SmallHouse();
  std::erase_if(tree, [&](const File& file) { return file.path == path; });
  tree.push_back({std::move(path), std::move(text)});
  return tree;
}

TEST(IncludeDirectionTest, AcceptsAHouseInOrder) {
  ExpectNone(CheckIncludeDirections(SmallHouse()));
  ExpectNone(CheckForeignIncludes(SmallHouse()));
}

TEST(IncludeDirectionTest, RefusesUpward) {
  EXPECT_THAT(
      CheckIncludeDirections(With("src/base/bad.h", "\n#include \"wire/services.h\"\n")),
      ElementsAre("src/base/bad.h:2: src/base must not include src/wire: includes point downward"));
}

TEST(IncludeDirectionTest, RefusesSiblings) {
  EXPECT_THAT(CheckIncludeDirections(
                  With("src/orchestrator/shell/bad.h", "#include \"discovery/publisher.h\"")),
              ElementsAre(HasSubstr("siblings")));
}

TEST(IncludeDirectionTest, RefusesAnIncludeOfAHigherFloor) {
  Tree tree = With("src/orchestrator/decide/roles.h", "#include \"orchestrator/core/batch.h\"");
  tree.push_back({"src/orchestrator/core/batch.h", "#include \"orchestrator/decide/roles.h\""});
  EXPECT_THAT(CheckIncludeDirections(tree),
              ElementsAre("src/orchestrator/decide/roles.h:1: src/orchestrator/decide must not "
                          "include src/orchestrator/core, which is on a higher floor"));
}

TEST(IncludeDirectionTest, RefusesACoreThatIncludesItsShell) {
  const Tree tree = With("src/discovery/diff.cc", "#include \"wire/services.h\"\n");
  EXPECT_THAT(CheckIncludeDirections(tree),
              ElementsAre(HasSubstr("src/discovery core must not include")));
}

TEST(IncludeDirectionTest, RefusesAFolderThatNobodyPlaced) {
  EXPECT_THAT(CheckIncludeDirections(With("src/attic/old.cc", "")),
              ElementsAre(HasSubstr("no layer")));
}

TEST(IncludeDirectionTest, RefusesAFolderOfTheOrchestratorOnNoFloor) {
  EXPECT_THAT(CheckIncludeDirections(With("src/orchestrator/attic/old.cc", "")),
              ElementsAre(HasSubstr("no floor")));
}

TEST(ForeignIncludeTest, RefusesGrpcBelowWire) {
  EXPECT_THAT(CheckForeignIncludes(With("src/orchestrator/bad.h", "#include <grpcpp/channel.h>")),
              SizeIs(1));
  EXPECT_THAT(CheckForeignIncludes(
                  With("src/orchestrator/bad.h", "#include \"shardmanager/v1/admin.grpc.pb.h\"")),
              SizeIs(1));
}

TEST(ForeignIncludeTest, RefusesZooKeeperOutsideItsFolder) {
  EXPECT_THAT(CheckForeignIncludes(With("src/daemon/bad.cc", "#include <zookeeper/zookeeper.h>")),
              SizeIs(1));
  ExpectNone(CheckForeignIncludes(
      With("src/coordination/zookeeper/session.cc", "#include <zookeeper/zookeeper.h>")));
}

TEST(PublicSurfaceTest, RefusesInternalHeadersInExamplesAndPublicHeaders) {
  EXPECT_THAT(CheckPublicSurface(With("examples/kvstore/main.cc", "#include \"base/time.h\"")),
              SizeIs(1));
  EXPECT_THAT(CheckPublicSurface(With("include/shardmanager/bad.h", "#include \"base/time.h\"")),
              SizeIs(1));
}

TEST(CoreLinkTest, RefusesACoreThatLinksGrpc) {
  const Tree tree = With(
      "src/router/CMakeLists.txt",
      "sm_library(sm_router_core\n  SOURCES map.cc  # (a comment)\n  DEPS sm_base gRPC::grpc++)");
  EXPECT_THAT(CheckCoreLinks(tree),
              ElementsAre(HasSubstr("sm_router_core must not link gRPC::grpc++")));
}

TEST(DepsTest, RefusesAnIncludeThatDepsDoNotName) {
  const Tree tree = With("src/discovery/publisher.cc",
                         "#include \"orchestrator/x.h\"\n"
                         "#include \"shardmanager/v1/admin.pb.h\"\n");
  EXPECT_THAT(CheckDepsCoverIncludes(tree), ElementsAre(HasSubstr("is of sm_proto")));
}

// The patterns overlap: each one is tried on its own example, too.
template <size_t kRows>
void ExpectEachRefused(const std::array<Banned, kRows>& table, const std::string& path) {
  for (const Banned& row : table) {
    const std::string example(row.example);
    EXPECT_TRUE(std::regex_search(example, std::regex(std::string(row.pattern)))) << example;
    EXPECT_THAT(CheckBannedCalls(With(path, example)), testing::Not(IsEmpty())) << example;
  }
}

TEST(BannedCallTest, RefusesEachKindInACore) {
  ExpectEachRefused(kBannedInCores, "src/discovery/diff.cc");
}

TEST(BannedCallTest, RefusesEachKindThatIsBannedEverywhere) {
  ExpectEachRefused(kBannedEverywhere, "src/daemon/bad.cc");
}

TEST(BannedCallTest, LetsShellsAndCommentsAndStringsPass) {
  ExpectNone(
      CheckBannedCalls(With("src/discovery/publisher.cc", "std::mutex m;\nspdlog::info(\"x\");")));
  ExpectNone(CheckBannedCalls(
      With("src/discovery/diff.cc",
           "// std::mutex is banned\n"
           "/* rand() */ const char* s = \"absl::Now() \\\" rand()\";\n"
           "int64_t n = 1'000'000; Duration uptime(int x); auto r = R\"(rand())\";\n")));
}

TEST(BannedCallTest, RefusesSleepingAnywhere) {
  EXPECT_THAT(CheckBannedCalls(With("src/daemon/bad.cc", "std::this_thread::sleep_for(1s);")),
              SizeIs(1));
  EXPECT_THAT(CheckBannedCalls(With("examples/kvstore/bad.cc", "sleep(1);")), SizeIs(1));
}

TEST(BannedCallTest, RefusesCredentialsBesideTheOnePlace) {
  EXPECT_THAT(
      CheckBannedCalls(With("src/wire/bad.cc", "auto c = grpc::InsecureChannelCredentials();")),
      ElementsAre(HasSubstr("wire/transport.h")));
}

TEST(ProtoCommentTest, RefusesFieldsWithoutComment) {
  const char* text =
      "message A {\n"
      "  // What it is.\n"
      "  string good = 1;\n"
      "  string bad = 2;\n"
      "  map<string, double> fine = 3;  // Because.\n"
      "}\n"
      "message GetRequest {\n"
      "  // Which.\n"
      "  repeated string vague = 1;\n"
      "  // OPTIONAL. Which.\n"
      "  optional string clear = 2;\n"
      "}\n";
  EXPECT_THAT(CheckProtoComments({{"proto/shardmanager/v1/a.proto", text}}),
              ElementsAre(HasSubstr(":4: field bad has no comment"),
                          HasSubstr(":9: field vague says neither")));
}

TEST(GlossaryTest, RefusesRuledOutWordsInNamesAndComments) {
  const Violations found = CheckGlossary(With(
      "src/daemon/bad.cc", "int worker_count;\nclass MasterElection;\n// Two instances of it.\n"));
  EXPECT_THAT(found, ElementsAre(HasSubstr(":1: \"worker\""), HasSubstr(":2: \"master\""),
                                 HasSubstr(":3: \"instance\"")));
  ExpectNone(CheckGlossary(With("src/daemon/good.cc", "// mastery, peerless\nint remastered;")));
}

}  // namespace
}  // namespace shardmanager::architecture
