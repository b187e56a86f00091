#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "cli/commands/place_progress.h"
#include "cli/commands/place_report.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kProblem[] = R"(metrics: [cpu]
servers:
- {name: a, region: east, capacity: [{metric: cpu, amount: 8}]}
- {name: b, region: west, capacity: [{metric: cpu, amount: 8}]}
- {name: c, region: west, capacity: [{metric: cpu, amount: 8}], draining: true}
shards:
- {name: s1, replicas: 2, load: [{metric: cpu, amount: 1.5}], servers: [a, c]}
- {name: s2, load: [{metric: cpu, amount: 3}], preferred_region: west}
)";

// The challenge's format: one resource, two machines, two processes on the first.
constexpr char kModel[] =
    "1 0 1  2  0 0 10 2 0 0  0 1 10 9 0 0  2 0 0 0 0  2 0 4 0 1 4 0  0  1 1 1";

class PlaceTest : public testing::Test {
 protected:
  PlaceTest() {
    folder_ = testing::TempDir() + "place_test." +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PlaceTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  ExitCode Run(std::vector<std::string> arguments, const std::string& input = "") {
    std::istringstream in(input);
    out_.str("");
    err_.str("");
    Terminal terminal{.in = &in, .out = &out_, .err = &err_, .interactive = interactive_};
    arguments.insert(arguments.begin(), "place");
    const auto limit = {"--time", "--cpu-time", "--steps"};
    const bool limited = std::any_of(limit.begin(), limit.end(), [&](const char* flag) {
      return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
    });
    if (!limited) arguments.insert(arguments.end(), {"--time", "50ms"});
    return RunShardctl(arguments, terminal);
  }

  std::string folder_;
  bool interactive_ = false;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(PlaceTest, ShowsWhatThePlanImproves) {
  EXPECT_EQ(Run({"-"}, kProblem), kOk) << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("METRIC"));
  EXPECT_THAT(out_.str(), HasSubstr("drain "));
  EXPECT_THAT(out_.str(), HasSubstr("2 moves; every constraint holds."));
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("- s1")));
  EXPECT_EQ(err_.str(), "") << "no progress where nobody watches";
}

TEST_F(PlaceTest, DryRunShowsTheMovesAndWritesNothing) {
  EXPECT_EQ(Run({"-", "--dry-run", "-o", Path("new.yaml")}, kProblem), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("- s1  c\n+ s1  b\n+ s2  b\n"));
  EXPECT_FALSE(std::filesystem::exists(Path("new.yaml")));
}

TEST_F(PlaceTest, WritesAProblemThatNeedsNoMoves) {
  EXPECT_EQ(Run({Write("problem.yaml", kProblem), "-o", Path("new.yaml")}), kOk);
  EXPECT_EQ(Run({Path("new.yaml")}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("0 moves; every constraint holds."));
}

TEST_F(PlaceTest, SpeaksJsonAndYaml) {
  EXPECT_EQ(Run({"-", "-o", "json"}, kProblem), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"feasible\": true"));
  EXPECT_EQ(Run({"-", "-o", "yaml"}, kProblem), kOk);
  EXPECT_THAT(out_.str(), StartsWith("feasible: true"));
}

// Ten shards of three on seven servers: no balance is perfect, so a search never ends by itself.
std::string Unbalanced() {
  std::string problem = "metrics: [cpu]\nservers:\n";
  for (int i = 0; i < 7; ++i) {
    problem += "- {name: v" + std::to_string(i) + ", capacity: [{metric: cpu, amount: 10}]}\n";
  }
  problem += "shards:\n";
  for (int i = 0; i < 10; ++i) {
    problem += "- {name: s" + std::to_string(i) + ", load: [{metric: cpu, amount: 3}]}\n";
  }
  return problem;
}

TEST_F(PlaceTest, RepeatsExactlyForABudgetOfSteps) {
  EXPECT_EQ(Run({"-", "-o", "json", "--steps", "30000"}, Unbalanced()), kOk) << err_.str();
  const std::string first = out_.str();
  EXPECT_THAT(first, HasSubstr("\"steps\": \"30000\""));
  EXPECT_EQ(Run({"-", "-o", "json", "--steps", "30000"}, Unbalanced()), kOk);
  EXPECT_EQ(out_.str(), first);
}

TEST_F(PlaceTest, ThreadsShareTheStepsAndRepeatExactly) {
  EXPECT_EQ(Run({"-", "-o", "json", "--steps", "200000", "--threads", "3"}, Unbalanced()), kOk);
  const std::string first = out_.str();
  EXPECT_THAT(first, HasSubstr("\"steps\": \"200000\""));
  EXPECT_EQ(Run({"-", "-o", "json", "--steps", "200000", "--threads", "3"}, Unbalanced()), kOk);
  EXPECT_EQ(out_.str(), first);
  for (const char* wrong : {"0", "65", "-1", "two"}) {
    EXPECT_EQ(Run({"-", "--threads", wrong}, kProblem), kUsage);
    EXPECT_THAT(err_.str(), HasSubstr("--threads"));
  }
}

TEST_F(PlaceTest, EndsWithItsProcessorTime) {
  EXPECT_EQ(Run({"-", "--cpu-time", "20ms"}, Unbalanced()), kOk) << err_.str();
  EXPECT_EQ(Run({"-", "--steps", "0"}, kProblem), kUsage);
  EXPECT_EQ(Run({"-", "--cpu-time", "0s"}, kProblem), kUsage);
}

TEST_F(PlaceTest, TellsTheCurveOfItsSearch) {
  EXPECT_EQ(Run({"-", "--progress", "--steps", "30000"}, Unbalanced()), kOk);
  EXPECT_THAT(err_.str(), StartsWith(" SECONDS  COST "));
  EXPECT_THAT(err_.str(), HasSubstr("  0, 10 unplaced         0\n")) << "at the beginning";
  EXPECT_THAT(err_.str(), testing::EndsWith("             0        10\n"));
}

TEST_F(PlaceTest, SaysWhenTheAnnealingFoundNothing) {
  EXPECT_EQ(Run({"-", "--steps", "30000"}, Unbalanced()), kOk);
  EXPECT_THAT(out_.str(), HasSubstr(" steps) found nothing better than the descent.\n"));
}

// What the documentation shows works as it is.
TEST_F(PlaceTest, SolvesTheProblemsOfItsDocumentation) {
  const char* source = std::getenv("SM_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "run through ctest";
  const std::string text = Read(std::string(source) + "/docs/data-placer.md");
  int problems = 0;
  for (size_t at = text.find("```yaml\n"); at != std::string::npos;
       at = text.find("```yaml\n", at + 1)) {
    const size_t begin = at + std::string("```yaml\n").size();
    EXPECT_EQ(Run({"-"}, text.substr(begin, text.find("```", begin) - begin)), kOk)
        << out_.str() << err_.str();
    ++problems;
  }
  EXPECT_EQ(problems, 2);
}

TEST_F(PlaceTest, SaysWhereARuleIsWrong) {
  const std::string problem = std::string(kProblem) + R"(constraints:
- exclusion: {}
- company:
    limits:
    - {shard: s1, with: s2}
    - {shard: s2, with: s3}
)";
  EXPECT_EQ(Run({"-"}, problem), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("14:"));
  EXPECT_THAT(
      err_.str(),
      HasSubstr("constraints[1].company.limits[1].with: found \"s3\"; allowed: the name of a "
                "shard"));
}

TEST_F(PlaceTest, SaysWhoIsInTheWrongCompany) {
  EXPECT_EQ(Run({"-"}, R"(metrics: [cpu]
servers:
- {name: a}
shards:
- {name: s1, servers: [a]}
- {name: s2, servers: [a]}
constraints:
- company: {limits: [{shard: s1, with: s2}]}
goals: []
)"),
            kRefused);
  EXPECT_THAT(out_.str(),
              HasSubstr("company(server) is broken at 1 place, most at a; shards: s1, s2; "));
}

TEST_F(PlaceTest, KeepsWhatItDoesNotChangeInTheNewProblem) {
  const std::string problem = R"(metrics: [cpu]
servers:
- {name: a, cost: 0, capacity: [{metric: cpu, amount: 8}]}
- {name: b, capacity: [{metric: cpu, amount: 8}]}
shards:
- {name: s1, replicas: 2, most_per_server: 2, move_cost: 0, servers: [b]}
constraints: []
goals: []
)";
  const std::string text = problem.substr(0, problem.find("constraints")) + "goals: []\n";
  EXPECT_EQ(Run({"-", "-o", Path("new.yaml")}, text), kOk) << err_.str();
  const std::string written = Read(Path("new.yaml"));
  for (const char* kept : {"cost: 0", "most_per_server: 2", "move_cost: 0", "no_goals: true"}) {
    EXPECT_THAT(written, HasSubstr(kept));
  }
  EXPECT_EQ(Run({Path("new.yaml")}), kOk) << err_.str();
  EXPECT_EQ(Run({"-"}, problem), kUsage) << "no exclusion reads most_per_server";
}

// Two shards on one of two servers. `one`, `other`: what else is said of them.
std::string TwoWhereOneFits(const std::string& one, const std::string& other) {
  return absl::StrCat(R"(metrics: [cpu]
servers:
- {name: a, capacity: [{metric: cpu, amount: 8}]}
- {name: b, capacity: [{metric: cpu, amount: 8}]}
shards:
- {name: s1, )",
                      one, R"(load: [{metric: cpu, amount: 5}], servers: [a]}
- {name: s2, )",
                      other, R"(load: [{metric: cpu, amount: 5}], servers: [a]}
goals: []
)");
}

TEST_F(PlaceTest, SaysThatNoPlanHasCheaperMoves) {
  EXPECT_EQ(Run({"-"}, TwoWhereOneFits("move_cost: 7, ", "move_cost: 3, ")), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("1 move; every constraint holds.\n"
                                    "No plan has moves that cost less.\n"));
}

TEST_F(PlaceTest, AnEmptyListOfGoalsIsNone) {
  const std::string problem = std::string(kProblem) + "goals: []\n";
  EXPECT_EQ(Run({"-"}, problem), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("1 move; every constraint holds.")) << "s2 is to be placed";
}

TEST_F(PlaceTest, SaysThatNoPlanHasFewerMoves) {
  EXPECT_EQ(Run({"-"}, TwoWhereOneFits("", "")), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("1 move; every constraint holds.\nNo plan has fewer moves.\n"));
}

TEST_F(PlaceTest, SaysWhyNothingFits) {
  const std::string problem =
      std::string(kProblem) + "- {name: giant, load: [{metric: cpu, amount: 9}]}\n";
  EXPECT_EQ(Run({"-"}, problem), kRefused);
  EXPECT_THAT(out_.str(), HasSubstr("not every constraint holds; this is the best"));
  EXPECT_THAT(out_.str(), HasSubstr("giant"));
}

TEST_F(PlaceTest, NamesTheLineOfWhatIsWrong) {
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string problem = kProblem;
    problem.replace(problem.find(from), from.size(), to);
    EXPECT_EQ(Run({"-"}, problem), kUsage) << out_.str();
    EXPECT_EQ(out_.str(), "");
    return err_.str();
  };
  EXPECT_THAT(message("amount: 1.5", "amount: -1"),
              HasSubstr("standard input:7:48: shards[0].load[0].amount: found -1; allowed: 0 to"));
  EXPECT_THAT(message("amount: 1.5", "amount: .nan"),
              HasSubstr("amount: found nan; allowed: 0 to"));
  EXPECT_THAT(message("amount: 1.5", "amount: 1e300"), HasSubstr("allowed: 0 to 1e15"));
  EXPECT_THAT(message("name: s2", "name: s1"), HasSubstr("shards[1].name: found \"s1\", which is"));
  EXPECT_THAT(message("servers: [a, c]", "servers: [a, z]"),
              HasSubstr("shards[0].servers[1]: found \"z\""));
  EXPECT_THAT(message("draining", "drainign"), HasSubstr("drainign"));
  EXPECT_THAT(message("metric: cpu, amount: 3", "metric: gpu, amount: 3"),
              HasSubstr("found \"gpu\"; allowed: one of `metrics`"));
  EXPECT_THAT(message("preferred_region: west", "preferred_region: north"),
              HasSubstr("preferred_region: found \"north\""));
  EXPECT_THAT(message("replicas: 2", "replicas: 10001"),
              HasSubstr("found 10001; allowed: 1 to 10000"));
}

TEST_F(PlaceTest, RefusesAnEmptyFleetAndWrongFiles) {
  EXPECT_EQ(Run({"-"}, "metrics: [cpu]\n"), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("servers: found 0 entries; allowed: 1 to"));
  EXPECT_EQ(Run({Path("absent.yaml")}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("cannot be opened"));
  EXPECT_EQ(Run({"-", "-o", Path("no/such/folder.yaml")}, kProblem), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("cannot be written"));
}

TEST_F(PlaceTest, SolvesTheChallengeFormat) {
  const std::string model = Write("model.txt", kModel);
  const std::string start = Write("assignment.txt", "0 0");
  EXPECT_EQ(Run({"--format=roadef", model, start, "-o", Path("new.txt")}), kOk) << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("cost 1, was 6; every constraint holds"));
  EXPECT_THAT(Read(Path("new.txt")), "1 1\n");
  EXPECT_EQ(Run({"--format=roadef", model}), kUsage);
  EXPECT_EQ(Run({"--format=roadef", start, model}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("model: line 1: number of resources: found \"0\""));
}

TEST_F(PlaceTest, RefusesAChallengeThatNoAssignmentCanMeet) {
  std::string text = kModel;
  text.replace(text.find("2 0 0 0 0  2"), 12, "2 2 0 0 0  2");  // a service of one process
  const std::string model = Write("model.txt", text);
  const std::string start = Write("assignment.txt", "0 0");
  EXPECT_EQ(Run({"--format=roadef", model, start, "-o", Path("new.txt")}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("service[0]: found spread 2 of 1 processes"));
}

TEST_F(PlaceTest, ShowsItsProgressToWhomeverWatches) {
  interactive_ = true;
  EXPECT_EQ(Run({"-"}, kProblem), kOk);
  EXPECT_THAT(err_.str(), HasSubstr("Looking for better plans "));
  const std::string model = Write("model.txt", kModel);
  const std::string start = Write("assignment.txt", "0 0");
  EXPECT_EQ(Run({"--format=roadef", model, start, "-o", Path("new.txt")}), kOk);
  EXPECT_THAT(err_.str(), HasSubstr("Looking for better plans "));
}

TEST_F(PlaceTest, TheHelpsProblemIsAProblem) {
  EXPECT_EQ(Run({"--help"}), kOk);
  const std::string help = out_.str();
  const size_t begin = help.find("  metrics:");
  const size_t end = help.find("Outputs:");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_LT(begin, end);
  EXPECT_EQ(Run({"-"}, help.substr(begin, end - begin)), kOk) << err_.str();
}

TEST(PlaceProgressTest, ShowsTheCostOfEachPriorityInUse) {
  PlanSoFar plan{.score = {}, .levels = std::vector<bool>(solver::kLevels), .moves = 43};
  EXPECT_EQ(CurveLine(1.25, plan),
            "     1.2  0                                        0        43\n");
  plan.levels[2] = plan.levels[4] = true;
  plan.score[2] = 3;
  plan.score[4] = 0.12345678;
  plan.score[solver::kConstraintLevel] = 2;
  EXPECT_EQ(CurveLine(100, plan),
            "   100.0  3/0.123457                               2        43\n");
}

TEST(PlaceProgressTest, ACurveHasALineASecondAndATwentiethOfTheBudget) {
  std::ostringstream out;
  Curve curve(&out);
  EXPECT_TRUE(curve.Due({}, 0));
  curve.Show({}, 0, {.score = {}, .levels = std::vector<bool>(solver::kLevels)});
  EXPECT_FALSE(curve.Due({.seconds = 0.9}, 0.04));
  EXPECT_TRUE(curve.Due({.seconds = 1}, 0.04));
  EXPECT_TRUE(curve.Due({.seconds = 0.1}, 0.05));
  EXPECT_FALSE(Curve(nullptr).Due({}, 0));
}

TEST(PlanTextTest, MarksAMetricThatIsAboveTheCapacitySomewhere) {
  v1::PlaceResponse plan;
  v1::PlaceResponse::MetricUse& metric = *plan.add_metrics();
  metric.set_metric("cpu");
  metric.set_max_after(1);
  EXPECT_THAT(PlanText(plan, /*colour=*/true), HasSubstr("  100.0%\n"));
  metric.set_max_after(1.01);
  EXPECT_THAT(PlanText(plan, /*colour=*/true), HasSubstr("  \x1b[31m101.0%\x1b[0m\n"));
}

TEST(PlanTextTest, MarksWhatIsLeftOfACostByItsLevel) {
  v1::PlaceResponse plan;
  v1::PlaceResponse::RuleCost& rule = *plan.add_rules();
  rule.set_rule("capacity(server, cpu)");
  rule.set_before(0.25);
  rule.set_after(0.25);
  rule.set_level("constraint");
  EXPECT_THAT(PlanText(plan, /*colour=*/true), HasSubstr("  \x1b[31m0.25\x1b[0m"));
  rule.set_level("goal 1");
  EXPECT_THAT(PlanText(plan, /*colour=*/true), HasSubstr("  \x1b[33m0.25\x1b[0m"));
  rule.set_after(0);
  EXPECT_THAT(PlanText(plan, /*colour=*/true), HasSubstr("  \x1b[32m0\x1b[0m"));
}

}  // namespace
}  // namespace shardmanager::cli
