// shardctl from its command line to its exit code, against a control plane of canned
// answers.
#include "cli/shardctl.h"

#include <algorithm>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kSpec[] = "name: kv\nkey_space: {split_points: [m]}\n";

// --- apply ---------------------------------------------------------------------------

TEST_F(ShardctlTest, AppliesAFile) {
  admin_.apply.set_outcome(v1::ApplyAppResponse::CREATED);
  EXPECT_EQ(Run({"apply", "-f", WriteFile("kv.yaml", kSpec)}), kOk);
  EXPECT_EQ(out_, "kv created\n");
  EXPECT_EQ(err_, "");
  EXPECT_THAT(admin_.requests(),
              ElementsAre("ApplyApp{spec { name: \"kv\" key_space { split_points: \"m\" } }}"));
}

TEST_F(ShardctlTest, AppliesTheStandardInputAndPassesFlagsOn) {
  input_ = kSpec;
  admin_.apply = FromText<v1::ApplyAppResponse>(
      "outcome: CONFIGURED changes: 'shards: 1 -> 2 (1 added: shard-1)'");
  EXPECT_EQ(Run({"apply", "-f", "-", "--dry-run", "--force"}), kOk);
  EXPECT_EQ(out_,
            "kv configured (dry run: nothing was changed)\n"
            "  shards: 1 -> 2 (1 added: shard-1)\n");
  EXPECT_THAT(admin_.requests(), ElementsAre(HasSubstr("force: true dry_run: true")));
}

TEST_F(ShardctlTest, AppliesNothingUnlessAllFilesAreGood) {
  const std::string good = WriteFile("good.yaml", kSpec);
  const std::string bad = WriteFile("bad.yaml", "name: kv\nreplicas: 3\n");
  EXPECT_EQ(Run({"apply", "-f", good, bad, "/does/not/exist", testing::TempDir()}), kUsage);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, StartsWith(bad + ":2:1: found unknown field \"replicas\""));
  EXPECT_THAT(err_, HasSubstr("/does/not/exist: cannot be opened: No such file or directory\n"));
  EXPECT_THAT(err_, HasSubstr(testing::TempDir() + ": found a folder; allowed: a file\n"));
  EXPECT_THAT(admin_.requests(), IsEmpty());
}

TEST_F(ShardctlTest, ShowsWhereInTheFileTheControlPlaneFoundProblems) {
  admin_.refusal = {grpc::StatusCode::INVALID_ARGUMENT,
                    "key_space.split_points[1]: found \"m\" (twice); allowed: another\n"
                    "replication.strategy: found nothing; allowed: primary-only\n"
                    "(only the first 2 problems are listed)"};
  const std::string file =
      WriteFile("two.yaml", "name: a\n---\nname: kv\nkey_space:\n  split_points:\n  - m\n  - m\n");
  EXPECT_EQ(Run({"apply", "-f", file}), kUsage);
  EXPECT_THAT(err_, HasSubstr(file +
                              ":7:5: key_space.split_points[1]: found \"m\" (twice); "
                              "allowed: another\n" +
                              file +
                              ":3:1: replication.strategy: found nothing; allowed: "
                              "primary-only\n" +
                              file + ": (only the first 2 problems are listed)\n"));
}

TEST_F(ShardctlTest, AppliesNoneOfSeveralSpecsIfOneIsRefused) {
  admin_.refusal = {grpc::StatusCode::FAILED_PRECONDITION, "3 shards would be lost"};
  input_ = std::string(kSpec) + "---\nname: other\n";
  EXPECT_EQ(Run({"apply", "-f", "-"}), kRefused);
  EXPECT_EQ(err_,
            "error: 3 shards would be lost\nerror: 3 shards would be lost\n"
            "nothing was changed: one of several specs is not right\n");
  EXPECT_THAT(admin_.requests(),
              ElementsAre(HasSubstr("dry_run: true"), HasSubstr("dry_run: true")))
      << "all are asked about before the first is applied";
}

TEST_F(ShardctlTest, AppliesSeveralSpecsThatAreAllRight) {
  input_ = std::string(kSpec) + "---\nname: other\n";
  EXPECT_EQ(Run({"apply", "-f", "-"}), kOk) << err_;
  ASSERT_EQ(admin_.requests().size(), 4u);
  for (size_t i = 2; i < 4; ++i) EXPECT_THAT(admin_.requests()[i], Not(HasSubstr("dry_run")));
}

// --- get, describe, delete, watch, status --------------------------------------------

TEST_F(ShardctlTest, GetsTables) {
  admin_.apps = TwoApps();
  admin_.servers = ThreeServers();
  admin_.shards = ThreeShards();
  EXPECT_EQ(Run({"get", "apps"}), kOk);
  EXPECT_THAT(out_, StartsWith("NAME     STRATEGY"));
  EXPECT_EQ(Run({"get", "servers", "-a", "kv", "-o", "wide"}), kOk);
  EXPECT_THAT(out_, HasSubstr("INCARNATION"));
  EXPECT_EQ(Run({"get", "shards", "shard-1", "--app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("kv-2(loading)"));
  EXPECT_THAT(admin_.requests(), ElementsAre("GetApps{}", "GetServers{app: \"kv\"}",
                                             "GetShards{app: \"kv\" shard: \"shard-1\"}"));
}

TEST_F(ShardctlTest, GetsNamesForScripts) {
  admin_.apps = TwoApps();
  admin_.servers = ThreeServers();
  admin_.shards = ThreeShards();
  EXPECT_EQ(Run({"get", "apps", "-o", "name"}), kOk);
  EXPECT_EQ(out_, "kv\nsearch\n");
  EXPECT_EQ(Run({"get", "servers", "-o", "name"}), kOk);
  EXPECT_EQ(out_, "kv-1\nkv-2\nkv-3\n");
  EXPECT_EQ(Run({"get", "shards", "--app", "kv", "-o", "name"}), kOk);
  EXPECT_EQ(out_, "shard-0\nshard-1\nshard-2\n");
}

TEST_F(ShardctlTest, GetsJsonAndYaml) {
  admin_.shards = ReplicatedShards();
  EXPECT_EQ(Run({"get", "shards", "--app", "x", "-o", "yaml"}), kOk);
  EXPECT_THAT(out_, StartsWith("shards:\n  - shard: a\n    replicas:\n      - server: s-1\n"));
  EXPECT_EQ(Run({"get", "shards", "--app", "x", "-o", "json"}), kOk);
  EXPECT_THAT(out_, HasSubstr("\"server\": \"s-1\",\n     \"role\": \"SECONDARY\",\n"));
}

TEST_F(ShardctlTest, GetsSpecsThatCanBeAppliedAgain) {
  admin_.apps = TwoApps();
  EXPECT_EQ(Run({"get", "apps", "-o", "spec"}), kOk);
  input_ = out_;
  EXPECT_EQ(Run({"apply", "-f", "-"}), kOk) << err_;
  EXPECT_EQ(admin_.requests()[3],
            "ApplyApp{spec { " + admin_.apps.apps(0).spec().ShortDebugString() + " }}");
  EXPECT_EQ(admin_.requests()[4],
            "ApplyApp{spec { " + admin_.apps.apps(1).spec().ShortDebugString() + " }}");
  EXPECT_EQ(Run({"get", "servers", "-o", "spec"}), kUsage);
}

TEST_F(ShardctlTest, FindsTheOnlyAppByItself) {
  admin_.apps = TwoApps();
  admin_.shards = ThreeShards();
  EXPECT_EQ(Run({"get", "shards"}), kUsage);
  EXPECT_EQ(err_, "error: which app? Say --app, one of: kv, search\n");
  admin_.apps.mutable_apps()->DeleteSubrange(1, 1);
  EXPECT_EQ(Run({"get", "shards"}), kOk);
  EXPECT_EQ(admin_.requests().back(), "GetShards{app: \"kv\"}");
  admin_.apps.clear_apps();
  EXPECT_EQ(Run({"get", "shards"}), kNotFound);
  EXPECT_EQ(err_, "error: there is no app yet\n");
}

TEST_F(ShardctlTest, FindsNothing) {
  EXPECT_EQ(Run({"get", "apps"}), kOk) << "an empty list is an answer";
  EXPECT_EQ(err_, "no apps yet\n");
  EXPECT_EQ(Run({"get", "apps", "-o", "spec"}), kOk);
  EXPECT_EQ(err_, "no apps yet\n");
  EXPECT_EQ(Run({"get", "apps", "-o", "json"}), kOk);
  EXPECT_EQ(out_, "{\n \"apps\": []\n}\n");
  EXPECT_EQ(Run({"get", "app", "kv"}), kNotFound);
  EXPECT_EQ(err_, "error: no app \"kv\"\n");
  EXPECT_EQ(Run({"get", "server", "kv-9"}), kNotFound);
  EXPECT_EQ(Run({"get", "shard", "s", "--app", "kv"}), kNotFound);
  EXPECT_EQ(Run({"describe", "app", "kv"}), kNotFound);
  EXPECT_EQ(Run({"describe", "server", "kv-9"}), kNotFound);
  EXPECT_EQ(Run({"describe", "shard", "s", "--app", "kv"}), kNotFound);
  admin_.refusal = {grpc::StatusCode::NOT_FOUND, "no app \"kv\""};
  EXPECT_EQ(Run({"delete", "app", "kv", "--yes"}), kNotFound);
  EXPECT_EQ(err_, "error: no app \"kv\"\n");
}

TEST_F(ShardctlTest, DescribesWithEvents) {
  admin_.status.set_leading(true);
  admin_.apps = TwoApps();
  admin_.servers = ThreeServers();
  admin_.shards = ThreeShards();
  admin_.events = ThreeEvents();
  EXPECT_EQ(Run({"describe", "app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("  2m3s   ServerLost"));
  EXPECT_EQ(Run({"describe", "server", "kv-1", "--app", "kv"}), kOk);
  EXPECT_THAT(out_, StartsWith("Server:        kv-1\n"));
  EXPECT_EQ(Run({"describe", "shard", "shard-0", "--app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("  2m2s   ShardServing"));
  EXPECT_EQ(err_, "");
}

TEST_F(ShardctlTest, AsksBeforeItDeletes) {
  interactive_ = true;
  input_ = "\n";
  EXPECT_EQ(Run({"delete", "app", "kv"}), kRefused);
  EXPECT_THAT(err_, HasSubstr("Delete app \"kv\" and drop all its shards? [y/N] "));
  EXPECT_THAT(admin_.requests(), IsEmpty());
  input_ = "Yes\n";
  EXPECT_EQ(Run({"delete", "app", "kv"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre("DeleteApp{app: \"kv\"}"));
  EXPECT_EQ(out_, "kv deleted: its servers drop its shards now\n");
}

// --- release -------------------------------------------------------------------------

TEST_F(ShardctlTest, ReleasesAServerAndSaysWhereTheBytesAre) {
  admin_.release.set_kept_at("/c/quarantine/apps:kv:assignments:001:kv-1@7.2");
  EXPECT_EQ(Run({"release", "server", "kv-1", "--app", "kv"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre("ReleaseServer{app: \"kv\" server: \"kv-1\"}"));
  EXPECT_THAT(out_, HasSubstr("the record's bytes stay at /c/quarantine/apps:kv:assignments:001:"));
  admin_.refusal = {grpc::StatusCode::FAILED_PRECONDITION, "server \"kv-1\" is live"};
  EXPECT_EQ(Run({"release", "server", "kv-1", "--app", "kv"}), kRefused);
  EXPECT_THAT(err_, HasSubstr("is live"));
}

TEST_F(ShardctlTest, TriesAShardAgainAndSaysWhereToLook) {
  EXPECT_EQ(Run({"retry", "shard", "shard-3", "--app", "kv"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre("RetryShard{app: \"kv\" shard: \"shard-3\"}"));
  EXPECT_EQ(out_, "shard-3 is tried again now; how it goes: shardctl explain kv shard-3\n");
  admin_.refusal = {grpc::StatusCode::NOT_FOUND, "app \"kv\" has no shard \"shard-3\""};
  EXPECT_EQ(Run({"retry", "shard", "shard-3", "--app", "kv"}), kNotFound);
}

// --- explain --------------------------------------------------------------------------

TEST_F(ShardctlTest, ExplainsAShard) {
  admin_.explanation = OneExplanation();
  EXPECT_EQ(Run({"explain", "kv", "shard-0"}), kOk);
  EXPECT_THAT(out_, HasSubstr("kv-2     us-east"));
  EXPECT_THAT(admin_.requests(),
              ElementsAre("ExplainShard{app: \"kv\" shard: \"shard-0\" most_candidates: 5}"));
}

TEST_F(ShardctlTest, ExplainsOneServerAndWritesJson) {
  admin_.explanation = OneExplanation();
  EXPECT_EQ(Run({"explain", "kv", "shard-0", "--on", "kv-4", "--candidates", "7", "-o", "json"}),
            kOk);
  EXPECT_THAT(out_, HasSubstr("\"replicas_wanted\": 1"));
  EXPECT_THAT(admin_.requests(), ElementsAre(HasSubstr("server: \"kv-4\" most_candidates: 7")));
  EXPECT_EQ(Run({"explain", "kv", "shard-0", "--candidates", "101"}), kUsage);
  EXPECT_EQ(Run({"explain", "kv"}), kUsage);
}

TEST_F(ShardctlTest, SuggestsTheNameThatExplainWasMeantToGet) {
  admin_.explain_refusal = {grpc::StatusCode::NOT_FOUND, "it is not there"};
  admin_.apps = TwoApps();
  admin_.shards = ThreeShards();
  admin_.servers = ThreeServers();
  EXPECT_EQ(Run({"explain", "serch", "shard-0"}), kNotFound);
  EXPECT_EQ(err_, "error: it is not there (did you mean \"search\"?)\n");
  EXPECT_EQ(Run({"explain", "kv", "shrd-1"}), kNotFound);
  EXPECT_EQ(err_, "error: it is not there (did you mean \"shard-1\"?)\n");
  EXPECT_EQ(Run({"explain", "kv", "shard-1", "--on", "kv2"}), kNotFound);
  EXPECT_EQ(err_, "error: it is not there (did you mean \"kv-2\"?)\n");
}

TEST_F(ShardctlTest, FetchesNoNamesOfALargeAppForASuggestion) {
  admin_.explain_refusal = {grpc::StatusCode::NOT_FOUND, "it is not there"};
  admin_.apps = TwoApps();
  admin_.shards = ThreeShards();
  for (const int large : {0, 1}) {  // the app, and another one
    admin_.apps.mutable_apps(0)->set_shards(large == 0 ? 100'001 : 100'000);
    admin_.apps.mutable_apps(1)->set_shards(large == 1 ? 100'001 : 100'000);
    EXPECT_EQ(Run({"explain", "kv", "shrd-1"}), kNotFound);
    EXPECT_EQ(err_, large == 0 ? "error: it is not there\n"
                               : "error: it is not there (did you mean \"shard-1\"?)\n");
  }
  admin_.apps.mutable_apps(0)->set_servers_known(100'001);
  EXPECT_EQ(Run({"explain", "kv", "shrd-1"}), kNotFound);
  EXPECT_EQ(err_, "error: it is not there\n");
}

TEST_F(ShardctlTest, DeletesWithoutAskingOnlyWhenTold) {
  input_ = "y\n";
  EXPECT_EQ(Run({"delete", "app", "kv"}), kUsage) << "nobody is there to answer";
  EXPECT_THAT(admin_.requests(), IsEmpty());
  EXPECT_EQ(Run({"delete", "app", "kv", "--yes"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre("DeleteApp{app: \"kv\"}"));
}

TEST_F(ShardctlTest, WatchesEvents) {
  admin_.status.set_leading(true);
  admin_.events = ThreeEvents();
  EXPECT_EQ(Run({"watch", "--no-follow"}), kOk);
  EXPECT_THAT(out_, StartsWith("2026-03-01T12:00:00.000Z  ServerLost  kv/kv-3  session expired\n"));
  EXPECT_EQ(Run({"watch", "--no-follow", "-o", "json"}), kOk);
  EXPECT_THAT(out_, StartsWith("{\"time_ms\":\"1772366400000\",\"app\":\"kv\","));
}

// Takes so many lines, then no more.
class FewLines final : public std::streambuf {
 public:
  explicit FewLines(int lines) : lines_(lines) {}
  const std::string& str() const { return text_; }

 private:
  int overflow(int c) override {
    if (lines_ <= 0) return EOF;
    text_.push_back(static_cast<char>(c));
    if (c == '\n') --lines_;
    return c;
  }
  int sync() override { return lines_ <= 0 ? -1 : 0; }

  int lines_;
  std::string text_;
};

TEST_F(ShardctlTest, GoesOnWatchingTheNextLeaderAndRepeatsNothing) {
  FakeAdmin next;
  next.status.set_leading(true);
  next.events = ThreeEvents();
  admin_.status.set_leader_endpoint(next.endpoint());
  v1::ControlEvent later = next.events.back();
  later.set_time_ms(later.time_ms() + 5);
  later.set_kind("LeaderElected");
  next.later_events = {later};
  // Every stream ends at once, as those of leaders that go do.
  FewLines lines(4);
  std::ostream out(&lines);
  std::istringstream in;
  std::ostringstream err;
  Terminal terminal = {.in = &in, .out = &out, .err = &err};
  RunShardctl({"watch", "-s", admin_.endpoint(), "--insecure"}, terminal);
  EXPECT_EQ(std::count(lines.str().begin(), lines.str().end(), '\n'), 4) << lines.str();
  EXPECT_THAT(lines.str(), HasSubstr("LeaderElected"));
  EXPECT_THAT(err.str(), StartsWith("lost the leader at " + next.endpoint()));
  EXPECT_THAT(err.str(), HasSubstr("\nwatching the leader at " + next.endpoint() + "\n"));
}

// A pass of the controller says many things at once.
TEST_F(ShardctlTest, ShowsEveryEventOfOneMillisecondAlsoThoseThatComeAfterABreak) {
  admin_.status.set_leading(true);
  admin_.status.set_leader_endpoint(admin_.endpoint());
  v1::ControlEvent event = ThreeEvents().back();
  for (const char* shard : {"s-1", "s-2", "s-3"}) {
    event.set_shard(shard);
    admin_.events.push_back(event);
  }
  event.set_shard("s-4");
  admin_.later_events = {event};
  event.set_shard("later");  // so that it ends, whatever is lost
  for (int i = 0; i < 4; ++i) {
    event.set_time_ms(event.time_ms() + 5);
    admin_.later_events.push_back(event);
  }
  FewLines lines(4);
  std::ostream out(&lines);
  std::istringstream in;
  std::ostringstream err;
  Terminal terminal = {.in = &in, .out = &out, .err = &err};
  RunShardctl({"watch", "-s", admin_.endpoint(), "--insecure"}, terminal);
  for (const char* shard : {"s-1", "s-2", "s-3", "s-4"}) {
    EXPECT_THAT(lines.str(), HasSubstr(shard)) << "shown once, as four lines are all there is";
  }
}

TEST_F(ShardctlTest, ShowsWhatHappensAfterTheLeadersClockWasSetBack) {
  admin_.status.set_leading(true);
  v1::ControlEvent event = ThreeEvents().back();
  event.set_shard("before");
  admin_.events.push_back(event);
  event.set_shard("after");
  event.set_time_ms(event.time_ms() - 30'000);
  admin_.events.push_back(event);
  EXPECT_EQ(Run({"watch", "--no-follow"}), kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("before"), HasSubstr("after")));
}

TEST_F(ShardctlTest, WatchesNobodyWhileNobodyLeads) {
  EXPECT_EQ(Run({"watch"}), kUnreachable);
  EXPECT_THAT(err_, HasSubstr("nobody leads now"));
}

TEST_F(ShardctlTest, ShowsStatusCompletionAndVersion) {
  admin_.status.set_cell("home");
  EXPECT_EQ(Run({"status"}), kProblems) << "nobody leads";
  EXPECT_THAT(out_, StartsWith("Cell:    home\n"));
  admin_.status.set_leading(true);
  EXPECT_EQ(Run({"status"}), kOk);
  admin_.status.add_problems()->set_reason("ShardsUnserved");
  EXPECT_EQ(Run({"status"}), kProblems);
  EXPECT_THAT(out_, HasSubstr("ShardsUnserved"));
  EXPECT_EQ(Run({"status", "-o", "json"}), kProblems);
  EXPECT_THAT(out_, HasSubstr("\"cell\": \"home\""));
  EXPECT_EQ(Run({"completion", "bash"}), kOk);
  EXPECT_THAT(out_, HasSubstr("complete -F _shardctl shardctl"));
  EXPECT_EQ(Run({"version"}), kOk);
  EXPECT_THAT(out_, StartsWith("shardctl "));
}

// --- Trouble -------------------------------------------------------------------------

TEST_F(ShardctlTest, SaysWhenNobodyAnswers) {
  const std::string endpoint = admin_.endpoint();
  admin_.Stop();
  EXPECT_EQ(Run({"get", "apps"}), kUnreachable);
  EXPECT_THAT(err_, StartsWith("error: the control plane at " + endpoint + " cannot answer: "));
  EXPECT_EQ(Run({"watch"}), kUnreachable);
  input_ = std::string(kSpec) + "---\nname: other\n";
  EXPECT_EQ(Run({"apply", "-f", "-"}), kUnreachable);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << "the second app cannot fare better";
}

TEST_F(ShardctlTest, TurnsErrorsIntoExitCodes) {
  const std::vector<std::pair<grpc::StatusCode, ExitCode>> codes = {
      {grpc::StatusCode::FAILED_PRECONDITION, kRefused},
      {grpc::StatusCode::INTERNAL, kRefused},
      {grpc::StatusCode::UNIMPLEMENTED, kRefused},
      {grpc::StatusCode::INVALID_ARGUMENT, kUsage},
      {grpc::StatusCode::UNAVAILABLE, kUnreachable},
      {grpc::StatusCode::DEADLINE_EXCEEDED, kUnreachable},
      {grpc::StatusCode::NOT_FOUND, kNotFound}};
  for (const auto& [code, expected] : codes) {
    admin_.refusal = {code, "because"};
    EXPECT_EQ(Run({"get", "apps"}), expected) << code;
    EXPECT_THAT(err_, StartsWith("error: "));
  }
}

TEST_F(ShardctlTest, ShowsNoControlCharactersOfErrors) {
  admin_.refusal = {grpc::StatusCode::INTERNAL, "one\n\x1b[2Jtwo"};
  EXPECT_EQ(Run({"get", "apps"}), kRefused);
  EXPECT_EQ(err_, "error: one\n\\x1b[2Jtwo\n");
}

TEST_F(ShardctlTest, FollowsAStandbyToTheLeader) {
  FakeAdmin standby;
  standby.refusal = {grpc::StatusCode::FAILED_PRECONDITION, "this process is a standby"};
  standby.leader = admin_.endpoint();
  standby.status.set_leader_endpoint(admin_.endpoint());
  admin_.status.set_leading(true);
  admin_.apps = TwoApps();
  admin_.servers = ThreeServers();
  admin_.events = ThreeEvents();
  EXPECT_EQ(RunAsIs({"get", "apps", "--server", standby.endpoint(), "--insecure"}), kOk);
  EXPECT_THAT(out_, HasSubstr("search"));
  EXPECT_EQ(RunAsIs({"watch", "--no-follow", "--server", standby.endpoint(), "--insecure"}), kOk);
  EXPECT_THAT(out_, HasSubstr("ServerLost"));
  EXPECT_EQ(RunAsIs({"describe", "app", "kv", "--server", standby.endpoint(), "--insecure"}), kOk);
  EXPECT_THAT(standby.requests(), ElementsAre("GetApps{}", "GetApps{app: \"kv\"}"))
      << "having found the leader, it stays with it";
}

TEST_F(ShardctlTest, FollowsOnlyOnce) {
  FakeAdmin other;
  admin_.refusal = other.refusal = {grpc::StatusCode::FAILED_PRECONDITION, "a standby"};
  admin_.leader = other.endpoint();
  other.leader = admin_.endpoint();
  EXPECT_EQ(Run({"get", "apps"}), kRefused);
  EXPECT_EQ(err_, "error: a standby\n");
  EXPECT_EQ(admin_.requests().size(), 1u);
  EXPECT_EQ(other.requests().size(), 1u);
}

TEST_F(ShardctlTest, NoticesThatItsOutputIsLost) {
  admin_.apps = TwoApps();
  output_is_lost_ = true;
  EXPECT_EQ(Run({"get", "apps"}), kRefused);
  EXPECT_EQ(err_, "error: the output cannot be written\n");
}

}  // namespace
}  // namespace shardmanager::cli
