// The challenge through the generic specs: costs are exact, the rules are those of the
// challenge, bad files are refused with their place.
#include <gtest/gtest.h>

#include "allocator/roadef/challenge.h"
#include "allocator/solver/search.h"
#include "base/random.h"
#include "tests/allocator/roadef_checker.h"
#include "tests/allocator/roadef_files.h"
#include "tests/golden/source_root.h"

namespace shardmanager::roadef {
namespace {

// Two resources (the second transient), four machines in two places, three services
// of five processes; service 1 needs service 0.
constexpr char kModel[] = R"(2
0 10
1 2
4
0 0 30 400  16 80   0 1 4 5
0 0 10 240  8 160   1 0 3 4
1 1 15 100  12 80   4 3 0 2
1 1 10 100  8 80    5 4 2 0
3
2 0
1 1 0
1 0
5
0 12 10 1000
0 10 20 100
1 6 200 1
1 3 50 1
2 2 5 7
1
0 1 20 10
1 10 100
)";
constexpr char kAssignment[] = "0 3 0 2 1";

absl::StatusOr<std::unique_ptr<Challenge>> MakeSmall() {
  auto instance = ParseInstance(kModel, kAssignment);
  if (!instance.ok()) return instance.status();
  return Challenge::Make(*instance);
}

TEST(RoadefTest, CountsAsTheCheckerOnRandomPlacements) {
  const auto challenge = MakeSmall();
  ASSERT_TRUE(challenge.ok()) << challenge.status();
  solver::State state((*challenge)->model());
  Random random(1);
  int valid = 0;
  for (int i = 0; i < 2000; ++i) {
    state.Move(solver::ObjectId(random.Below(5)), solver::ContainerId(random.Below(4)));
    Challenge::Placement where(5);
    for (size_t o = 0; o < 5; ++o) where[solver::ObjectId(o)] = state.where(solver::ObjectId(o));
    const Verdict verdict = Judge(kModel, kAssignment, (*challenge)->ToText(where));
    const solver::Score score = state.Total();
    ASSERT_EQ(verdict.broken.empty(), score[solver::kConstraintLevel] == 0) << verdict.broken;
    ASSERT_EQ(verdict.cost, Challenge::CostOf(score));
    valid += verdict.broken.empty();
  }
  EXPECT_GT(valid, 20);
  EXPECT_LT(valid, 1900);
}

TEST(RoadefTest, WritesProcessesInTheOrderOfTheFile) {
  std::string shuffled = kModel;
  const std::string first = "0 12 10 1000\n";
  const std::string last = "2 2 5 7\n";
  shuffled.replace(shuffled.find(first), first.size(), last);
  shuffled.replace(shuffled.rfind(last), last.size(), first);
  const auto instance = ParseInstance(shuffled, kAssignment);
  ASSERT_TRUE(instance.ok()) << instance.status();
  const auto challenge = Challenge::Make(*instance);
  ASSERT_TRUE(challenge.ok()) << challenge.status();
  EXPECT_EQ((*challenge)->ToText((*challenge)->problem().start), std::string(kAssignment) + "\n");
}

std::string Refusal(const std::string& model, const std::string& assignment) {
  const auto instance = ParseInstance(model, assignment);
  if (!instance.ok()) return std::string(instance.status().message());
  return std::string(Challenge::Make(*instance).status().message());
}

std::string With(const std::string& what, const std::string& instead) {
  std::string model = kModel;
  return model.replace(model.find(what), what.size(), instead);
}

TEST(RoadefTest, RefusesBadFilesNamingTheLineAndTheField) {
  EXPECT_EQ(Refusal("", ""),
            "model: line 1: number of resources: found the end of the file; allowed: a whole "
            "number from 1 to 20");
  EXPECT_EQ(Refusal(With("0 10\n", "0 nan\n"), kAssignment),
            "model: line 2: resource.load_weight[0]: found \"nan\"; allowed: a whole number from "
            "0 to 2147483647");
  EXPECT_EQ(Refusal(With("15 100", "-15 100"), kAssignment),
            "model: line 7: machine.capacity[2]: found \"-15\"; allowed: a whole number from 0 to "
            "2147483647");
  EXPECT_EQ(Refusal(With("1 1 0\n", "1 1 3\n"), kAssignment),
            "model: line 11: service.dependency[1]: found \"3\"; allowed: a whole number from 0 "
            "to 2");
  EXPECT_EQ(Refusal(With("1 10 100\n", "1 10 100 7\n"), kAssignment),
            "model: line 21: after the last number: found \"7\"; allowed: the end of the file");
  EXPECT_EQ(Refusal(kModel, "0 3 0 2 4"),
            "assignment: line 1: machine of process[4]: found \"4\"; allowed: a whole number from "
            "0 to 3");
  EXPECT_EQ(Refusal(With("2 0\n1 1", "3 0\n1 1"), kAssignment),
            "service[0]: found spread 3 of 2 processes; allowed: no more than those");
}

TEST(RoadefTest, ShowsTheBeginningOfWhatItFoundWithoutStrayBytes) {
  const auto found = [](const std::string& word) {
    const std::string refusal = Refusal(With("0 10\n", "0 " + word + "\n"), kAssignment);
    const size_t begin = refusal.find("found ");
    return refusal.substr(begin, refusal.find(';') - begin);
  };
  EXPECT_EQ(found("!x~\x01\x7f\x80"), "found \"!x~???\"");
  EXPECT_EQ(found(std::string(20, '~')), "found \"~~~~~~~~~~~~~~~~~~~~\"");
  EXPECT_EQ(found(std::string(21, '~')), "found \"~~~~~~~~~~~~~~~~~~~~...\"");
}

TEST(RoadefTest, SurvivesFilesCutAnywhereAndStrayBytes) {
  const std::string model = kModel;
  for (size_t n = 0; n + 4 < model.size(); ++n) {
    EXPECT_FALSE(ParseInstance(model.substr(0, n), kAssignment).ok()) << n;
  }
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = model;
    for (int k = 0; k < 3; ++k) {
      changed[random.Below(changed.size())] = "0123456789- x\n\0"[random.Below(15)];
    }
    const auto instance = ParseInstance(changed, kAssignment);
    if (!instance.ok()) continue;
    const auto challenge = Challenge::Make(*instance);
    if (challenge.ok()) solver::State((*challenge)->model()).Total();
  }
}

TEST(RoadefTest, OriginalCostsAreThePublishedOnes) {
  const std::string folder = Folder(SourceRoot());
  if (folder.empty()) GTEST_SKIP() << "the challenge's files are not there (SM_ROADEF_DIR)";
  for (const Published& published : Instances()) {
    SCOPED_TRACE(published.name);
    const std::string model = ReadText(ModelPath(folder, published.name));
    const std::string original = ReadText(AssignmentPath(folder, published.name));
    const auto instance = ParseInstance(model, original);
    ASSERT_TRUE(instance.ok()) << instance.status();
    const auto challenge = Challenge::Make(*instance);
    ASSERT_TRUE(challenge.ok()) << challenge.status();
    const solver::Score score = solver::State((*challenge)->model()).Total();
    EXPECT_EQ(Challenge::CostOf(score), published.original);
    EXPECT_EQ(score[solver::kConstraintLevel], 0);
    const Verdict verdict = Judge(model, original, original);
    EXPECT_EQ(verdict.cost, published.original);
    EXPECT_EQ(verdict.broken, "");
  }
}

TEST(RoadefTest, SolutionsAreValidAndCostWhatTheSolverSays) {
  const auto challenge = MakeSmall();
  ASSERT_TRUE(challenge.ok()) << challenge.status();
  solver::Search search((*challenge)->model(), {});
  search.Descend();
  search.Anneal({.steps = 200'000});
  const Verdict verdict = Judge(kModel, kAssignment, (*challenge)->ToText(search.Where()));
  EXPECT_EQ(verdict.broken, "");
  EXPECT_EQ(verdict.cost, Challenge::CostOf(search.BestScore()));
  EXPECT_LT(verdict.cost, Judge(kModel, kAssignment, kAssignment).cost);
}

}  // namespace
}  // namespace shardmanager::roadef
