// Each command with all its flags, against an app on a bad day: what the control plane is asked,
// and what people read. Golden texts (*.txt): "> " is a request, "! " a line of the standard error.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/cli/shardctl_fixture.h"
#include "tests/golden/golden.h"

namespace shardmanager::cli {
namespace {

class SessionsTest : public ShardctlTest {
 protected:
  SessionsTest() {
    setenv("USER", "jo", /*overwrite=*/1);
    SetApps();
    SetOperations();
    SetMaintenances();
    admin_.explanation = OneExplanation();
    admin_.release = FromText<v1::ReleaseServerResponse>(
        "kept_at: '/c/quarantine/apps:kv:assignments:012:kv-3@4711.9'");
    admin_.status = FromText<v1::GetStatusResponse>(
        "cell: 'c' leading: true leader_epoch: 4 leader_endpoint: 'h:1' version: '0.1.0'");
    admin_.events = ThreeEvents();
    admin_.drained = FromText<v1::DrainResponse>("apps { app: 'kv' servers: 2 replicas: 12 }");
    admin_.preferred =
        FromText<v1::PreferRegionsResponse>("changed: 1 regions_without_servers: 'us-east'");
    admin_.undrained = FromText<v1::UndrainResponse>("apps { app: 'kv' servers: 1 replicas: 1 }");
  }
  ~SessionsTest() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    ExpectGolden("tests/cli/sessions/" + name + ".txt", text_);
  }

  // The words of one command line, separated by blanks.
  void Session(const std::string& line) {
    const size_t asked = admin_.requests().size();
    const ExitCode code = Run(absl::StrSplit(line, ' '));
    absl::StrAppend(&text_, "$ shardctl ", line, "\n");
    const std::vector<std::string> requests = admin_.requests();
    for (size_t i = asked; i < requests.size(); ++i)
      absl::StrAppend(&text_, "> ", requests[i], "\n");
    absl::StrAppend(&text_, Known(out_));
    if (!err_.empty()) {
      absl::StrAppend(&text_, "! ",
                      absl::StrReplaceAll(absl::StripSuffix(Known(err_), "\n"), {{"\n", "\n! "}}),
                      "\n");
    }
    if (code != kOk) absl::StrAppend(&text_, "exit code ", static_cast<int>(code), "\n");
    absl::StrAppend(&text_, "\n");
  }

 private:
  // Without what differs from run to run.
  std::string Known(const std::string& text) const {
    return absl::StrReplaceAll(text, {{admin_.endpoint(), "HOST:PORT"}});
  }
  void SetApps() {
    admin_.apps = TwoApps();
    admin_.apps.mutable_apps()->RemoveLast();
    admin_.apps.mutable_apps(0)->MergeFrom(FromText<v1::AppStatus>(R"(
        spec { failover { max_concurrent: 50 max_concurrent_per_server: 4
                          max_concurrent_per_shard: 1 }
               moves { drain { max_concurrent: 40 max_concurrent_per_server: 8 } } }
        drains { scope { server: "kv-3" } primaries_only: true since_ms: 1772366000000 }
        drains { scope { domain { region: "eu-west" datacenter: "dub1" } } reason: "new floor"
                 since_ms: 1772366100000 }
        drains { scope { server: "kv-2" } since_ms: 1772366150000
                 reason: "14 clients cannot use it (no answer in time), 1 can"
                 by_clients { life: 7 until_ms: 1772366450000 } }
        pins { shard: "shard-1" reason: "debugged" who: "jo" since_ms: 1772366200000 }
        pause { reason: "a network change" who: "jo" since_ms: 1772366300000 })"));
    admin_.servers = ThreeServers();
    admin_.shards = ThreeShards();
    admin_.shards.add_shards()->CopyFrom(FromText<v1::ShardStatus>(R"(
        shard: "shard-3" state: "serving" pin { shard: "shard-3" since_ms: 1772366200000 }
        replicas { server: "kv-1" role: PRIMARY epoch: 7 state: "serving" }
        replicas { server: "kv-2" role: SECONDARY epoch: 8 state: "serving" })"));
  }
  void SetOperations() {
    admin_.operations = FromText<v1::GetOperationsResponse>(R"(
        operations { app: "kv" manager: "kube-eu" id: "r/kv-1" kind: RESTART server: "kv-1"
                     incarnation: 1 state: "begun" since_ms: 5000 silent_ms: 31000 forced: true }
        operations { app: "kv" manager: "kube-eu" id: "r/kv-2" kind: RESTART server: "kv-2"
                     incarnation: 12 state: "waiting" since_ms: 95000 silent_ms: 1200
                     reason: "version 42"
                     delays { reason: "ShardCap" message: "shard-1 can spare no more replicas"
                              shard: "shard-1" servers: "kv-1" servers: "kv-3"
                              ends_when: "kv-1 serves again" }
                     delays { reason: "ServerCap" message: "2 servers away" } }
        operations { app: "search" manager: "kube-us" id: "r/kv-2" kind: MOVE server: "s-1"
                     state: "approved" silent_ms: -1 })");
    admin_.rollouts = FromText<v1::GetRolloutsResponse>(R"(
        rollouts { app: "kv" manager: "kube-eu" name: "r" kind: RESTART waiting: 3 preparing: 1
                   approved: 1 begun: 2 finished: 5 began_ms: 600000 progress_ms: 4000 at_once: 4
                   mean_ms: 30000 ends_in_ms: 65000 forecast_reason: "if all go on as so far"
                   delays { reason: "ServerCap" message: "4 servers away" operations: 3 }
                   seen_for_ms: 700000 }
        rollouts { app: "search" manager: "kube-us" waiting: 1 progress_ms: -1 mean_ms: -1
                   ends_in_ms: -1 forecast_reason: "no operation was approved yet" })");
  }
  void SetMaintenances() {
    admin_.maintenances = FromText<v1::GetMaintenancesResponse>(R"(
        maintenances {
          app: "kv" state: "ahead" left_ms: 95000 primaries_leave: true servers: 2 servers_live: 1
          maintenance { id: "change-1" scope { domain { region: "eu-west" datacenter: "dub1" } }
                        impact: NETWORK_LOSS start_ms: 1772366400000 end_ms: 1772370000000
                        since_ms: 1772366000000 who: "jo" reason: "new switches" } }
        maintenances {
          app: "kv" state: "preparing" left_ms: 3000 secondaries_leave: true servers: 1
          servers_live: 1 replicas_left: 3 shards_hit: 3
          hits { shard: "shard-1" why: "it has no other replica" }
          hits { shard: "shard-2" why: "it has no place" }
          maintenance { id: "change-2" scope { server: "kv-3" } impact: MACHINE_LOSS
                        start_ms: 1772366400000 end_ms: 1772370000000 since_ms: 1772366000000 } }
        maintenances {
          app: "search" state: "under-way" left_ms: 61000 servers: 1 servers_live: 1
          maintenance { id: "change-3" scope { server: "s-1" } impact: RUNTIME_STATE_LOSS
                        start_ms: 1772366400000 end_ms: 1772370000000 since_ms: 1772366000000 } }
        maintenances {
          app: "search" state: "ready" left_ms: 1000 primaries_leave: true servers: 1
          maintenance { id: "change-4" scope { server: "s-2" } impact: FULL_STATE_LOSS
                        start_ms: 1772366400000 end_ms: 1772370000000 since_ms: 1772366000000 } }
        maintenances { app: "search" state: "over" maintenance { id: "change-5" } })");
  }

  std::string text_;
};

TEST_F(SessionsTest, Get) {
  for (const char* what : {"apps", "servers", "shards", "operations"}) {
    for (const char* format : {"table", "wide", "json", "yaml", "name"}) {
      Session(absl::StrCat("get ", what, " -a kv -o ", format));
    }
  }
  Session("get app kv -o spec");
  Session("get server kv-1");
  Session("get shard shard-1 -a kv");
  Session("get operation r/kv-1");
  Session("get servers -o spec");
}

TEST_F(SessionsTest, DescribeAndExplain) {
  Session("describe app kv");
  Session("describe server kv-1 -a kv");
  Session("describe shard shard-1");
  Session("describe shard shard-3 -a kv");
  Session("describe operation r/kv-2 -a kv");
  Session("explain kv shard-0");
  Session("explain kv shard-0 --on kv-2 --candidates 7");
  for (const char* format : {"json", "yaml"}) {
    Session(absl::StrCat("explain kv shard-0 -o ", format));
  }
  Session("explain operation r/kv-2");
  Session("explain operation r/kv-2 --manager kube-eu -a kv -o json");
  Session("explain operation r/kv-9");
}

TEST_F(SessionsTest, ChangeWhereReplicasAre) {
  Session("drain server kv-3 -a kv --primaries-only --reason noise");
  Session("drain rack eu-west/dub1/r07");
  Session("undrain datacenter eu-west/dub1 -a kv");
  Session("undrain region eu-west");
  Session("drain rack eu-west");
  Session("pause app kv --failover --reason migration");
  Session("pause app kv");
  Session("resume app kv");
  Session("pin shard shard-1 -a kv --reason debugged");
  Session("pin shard shard-1");
  Session("unpin shard shard-1 -a kv");
  Session("prefer shard-1 us-east -a kv --dry-run");
  Session("prefer shard-1 us-east --weight 10");
  Session("prefer shard-1 -");
  Session("retry shard shard-1 -a kv");
  Session("release server kv-3 -a kv");
}

TEST_F(SessionsTest, Levers) {
  admin_.moved = FromText<v1::MoveShardResponse>(
      R"(from: "kv-1" verdict: "equal" reason: "it is no better there, and a move is not for free")");
  Session("move shard shard-1 --to kv-3 -a kv");
  Session("move shard shard-1 --to kv-3 --from kv-1");
  admin_.moved = FromText<v1::MoveShardResponse>(
      R"(from: "kv-1" verdict: "worse" reason: "balance loses: cpu costs 3 there and 1 here")");
  Session("move shard shard-1 --to kv-3 -a kv");
  Session("move shard shard-1 -a kv");
  Session("unquarantine server kv-3 -a kv");
  Session("forget server kv-3 -a kv");
  admin_.forgotten.set_already(true);
  Session("forget server kv-3 -a kv");
  Session("retry shard shard-1 -a kv");
  Session("pause app kv --only-balance");
}

TEST_F(SessionsTest, DryRuns) {
  admin_.previewed = FromText<v1::PreviewResponse>(R"(
      changes: "+ drains { scope { server: \"kv-3\" } }"
      follows: "it is about 12 replicas on 1 server of app \"kv\"")");
  for (const char* line :
       {"drain server kv-3 --dry-run", "undrain server kv-3 -a kv --dry-run",
        "pause app kv --failover --dry-run", "resume app kv --dry-run",
        "pin shard shard-1 -a kv --dry-run", "unpin shard shard-1 -a kv --dry-run",
        "retry shard shard-1 -a kv --dry-run", "move shard shard-1 --to kv-3 -a kv --dry-run",
        "unquarantine server kv-3 -a kv --dry-run", "forget server kv-3 -a kv --dry-run",
        "drain server kv-3 --dry-run --wait"}) {
    Session(line);
  }
  admin_.previewed.Clear();
  Session("pin shard shard-1 -a kv --dry-run");
}

TEST_F(SessionsTest, SplitAndMerge) {
  Session("split users-3 --at k --into low,high -a kv");
  Session("split users-3 --at 1000 --at 2000 --form u64 --into a,b,c --dry-run");
  Session("split users-3 --at \\x80\\\\ --into low,high --wait");
  Session("split users-3 --at 12x --form u16");
  Session("split users-3 --at \\q");
  Session("split users-3");
  Session("split users-3 users-4 --at k");
  Session("split users-3 --at k --form rot13");
  Session("merge users-3 users-4 users-5 --into m -a kv -w");
  Session("merge users-3 --into m");
  Session("merge users-3 users-4");
}

TEST_F(SessionsTest, Operations) {
  Session("approve operation r/kv-2 -a kv --manager kube-eu --force");
  Session("end operation r/kv-1 -a kv --manager kube-eu");
  for (const char* format : {"table", "wide", "json", "yaml"}) {
    Session(absl::StrCat("rollout status kv -o ", format));
  }
  Session("rollout status");
}

TEST_F(SessionsTest, Maintenances) {
  Session(
      "maintenance add change-1 server kv-3 --impact machine-loss --start 2026-03-01T12:00Z "
      "--end 2026-03-01T13:00Z --reason fans");
  for (const char* format : {"table", "json", "yaml"}) {
    Session(absl::StrCat("maintenance list -a kv -o ", format));
  }
  for (const char* id : {"change-1", "change-2", "change-3", "change-5"}) {
    Session(absl::StrCat("maintenance list ", id));
  }
  Session("maintenance cancel change-1");
  Session("maintenance add change-1 server kv-3 --impact power-loss --for 1h");
}

TEST_F(SessionsTest, History) {
  admin_.history = FromText<v1::GetHistoryResponse>(R"(
      process: "sm-1/4711" leading: true reaches_back_ms: 1772000000000 older_page_token: "t"
      problem: "history.db cannot be used: database or disk is full"
      events { time_ms: 1772366400000 app: "kv" kind: "AdminChange" shard: "shard-1" by: "operator/alice"
               message: "PinShard { app: \"kv\" }" changes: "+ pins shard: \"shard-1\""
               position { leader_epoch: 3 sequence: 14 } }
      events { time_ms: 1772366401000 app: "kv" kind: "CommandFailed" server: "kv-3" shard: "shard-1"
               message: "disk full" count: 57 last_ms: 1772366461000 last_sequence: 90
               position { leader_epoch: 3 sequence: 20 } })");
  Session("history shard shard-1 --app kv --kind CommandFailed --kind AdminChange -n 10");
  Session("history server kv-3 --since 2026-03-01T12:00Z");
  Session("history app kv -o json");
  Session("history operation rollout-42/kv-3 -o yaml");
  admin_.history = FromText<v1::GetHistoryResponse>("process: \"sm-2/12\"");
  Session("history changes");
  Session("history changes kv");
  Session("history shard");
  Session("history changes --since yesterday");
}

TEST_F(SessionsTest, Top) {
  Session("top shards kv");
  Session("top keys kv");
  admin_.apps.mutable_apps(0)->mutable_skew()->CopyFrom(FromText<v1::AppSkew>(R"(
      requests_per_s: 1100.4 server_requests_per_s: 366.8 keys_sampled: 1037 entropy_bits: 4.83
      entropy_lowest_bits: 4.8 entropy_highest_bits: 5.97 shards_hot: 1
      keys { key: "cart:4711" shard: "shard-1" requests_per_s: 480 share: 0.436 of_server: 1.308
             hot: true }
      keys { key: "\000\377" shard: "shard-0" requests_per_s: 9.4 error_per_s: 6 share: 0.0085
             of_server: 0.01 })"));
  admin_.shards.mutable_shards(0)->mutable_traffic()->CopyFrom(FromText<v1::ShardTrafficStatus>(
      "requests_per_s: 120.3 p50_ms: 0.256 p99_ms: 2048 share: 0.109 of_server: 0.328"));
  admin_.shards.mutable_shards(1)->mutable_traffic()->CopyFrom(FromText<v1::ShardTrafficStatus>(R"(
      requests_per_s: 980.1 errors_per_s: 0.25 p50_ms: 0.512 p99_ms: 16.384 share: 0.891
      of_server: 2.672 hot: true
      reason: "980 requests/s at one server, 2.7 times what a server of the app has on average")"));
  Session("top shards kv");
  Session("top shards kv -n 1 -o json");
  Session("top keys kv");
  Session("top keys kv -n 1 -o yaml");
  Session("describe app kv");
  Session("describe shard shard-1 -a kv");
  admin_.apps.Clear();
  Session("top keys kv");
}

TEST_F(SessionsTest, AppsAndTheCell) {
  Session("delete app kv --yes");
  Session("watch -a kv --no-follow");
  Session("watch --no-follow -o json");
  for (const char* format : {"table", "json", "yaml"}) Session(absl::StrCat("status -o ", format));
}

TEST_F(SessionsTest, Roles) {
  admin_.access.policy = FromText<v1::GetPolicyResponse>(R"(
      grants { identity: "operator/alice" role: "app-owner" apps: "kv" apps: "search"
               by: "admin/root" since_ms: 1772366200000 }
      grants { identity: "operator/bob" role: "viewer" by: "operator/eve" since_ms: 1772366300000 })");
  admin_.access.who = FromText<v1::WhoAmIResponse>(R"(
      cell: "prod" identity: "server/kv/kv-1"
      roles { identity: "server/kv/kv-1" role: "server" apps: "kv" }
      roles { identity: "server/kv/kv-1" role: "viewer" by: "admin/root" since_ms: 1772366200000 })");
  admin_.access.can = FromText<v1::CanIResponse>(
      "reason: 'operator/bob may not call Admin.ApplyApp' roles: 'app-owner of app kv'");
  Session("grant operator/alice app-owner --app kv --app search");
  Session("grant operator/bob viewer");
  Session("revoke operator/alice app-owner -a kv");
  for (const char* format : {"table", "wide", "json", "yaml", "name"}) {
    Session(absl::StrCat("get grants -o ", format));
  }
  Session("get grants operator/bob");
  for (const char* format : {"table", "json", "yaml"}) Session(absl::StrCat("whoami -o ", format));
  Session("can-i apply --app kv --as operator/bob");
  Session("can-i exlpain");
}

TEST_F(SessionsTest, ARefusalIsSaidByEachCommandOnItsStandardError) {
  admin_.refusal = {grpc::StatusCode::NOT_FOUND, "no app \"kv\""};
  for (const char* line : {"get apps",
                           "get servers",
                           "get shards -a kv",
                           "get operations",
                           "describe app kv",
                           "describe server kv-1",
                           "describe shard s -a kv",
                           "describe operation o",
                           "explain kv shard-0",
                           "explain operation o",
                           "drain server kv-1",
                           "undrain server kv-1",
                           "pause app kv",
                           "resume app kv",
                           "pin shard s -a kv",
                           "unpin shard s -a kv",
                           "retry shard s -a kv",
                           "move shard s --to kv-1 -a kv",
                           "unquarantine server kv-1 -a kv",
                           "forget server kv-1 -a kv",
                           "drain server kv-1 --dry-run",
                           "release server kv-3 -a kv",
                           "approve operation o -a kv --force",
                           "end operation o -a kv",
                           "rollout status kv",
                           "maintenance list",
                           "maintenance cancel c",
                           "top shards kv",
                           "top keys kv",
                           "delete app kv --yes",
                           "grant operator/a viewer",
                           "revoke operator/a viewer",
                           "get grants",
                           "whoami",
                           "can-i drain",
                           "watch --no-follow"}) {
    Session(line);
  }
}

TEST_F(SessionsTest, Help) {
  for (const char* command : {"apply",
                              "get",
                              "describe",
                              "explain",
                              "drain",
                              "undrain",
                              "delete",
                              "release",
                              "retry",
                              "move",
                              "unquarantine",
                              "forget",
                              "approve",
                              "end",
                              "pause",
                              "resume",
                              "pin",
                              "unpin",
                              "top",
                              "maintenance",
                              "maintenance add",
                              "maintenance list",
                              "maintenance cancel",
                              "rollout",
                              "rollout status",
                              "watch",
                              "grant",
                              "revoke",
                              "whoami",
                              "can-i",
                              "place",
                              "cell",
                              "cell credentials",
                              "cell credentials cell",
                              "cell credentials app",
                              "cell credentials server",
                              "cell secure",
                              "cell raise-epochs",
                              "cell status",
                              "status",
                              "completion"}) {
    Session(absl::StrCat(command, " --help"));
  }
  Session("--help");
}

TEST_F(SessionsTest, WrongCommandLines) {
  for (const char* line :
       {"gte apps",
        "get",
        "get app",
        "get ap",
        "get apps -o jsn",
        "get apps --ap kv",
        "describe server",
        "describe nodes n",
        "explain kv",
        "explain kv s --candidates 0",
        "explain kv s --candidates 101",
        "drain host h",
        "drain rack a/b",
        "delete app",
        "approve operation o -a kv",
        "maintenance",
        "maintenance add m server s",
        "maintenance add m server s --impact network-loss --start tomorrow --for 1h",
        "maintenance add m server s --impact network-loss --in 1h --start 2026-03-01T12:00Z",
        "maintenance add m server s --impact network-loss --for 0s",
        "rollout",
        "watch -o yaml",
        "completion tcsh",
        "get apps --timeout 0s",
        "get apps --timeout soon",
        "get apps --server nowhere",
        "get apps --server :7400",
        "get apps --server h:123456"}) {
    Session(line);
  }
}

TEST_F(SessionsTest, NothingIsThere) {
  admin_.apps.Clear();
  admin_.servers.Clear();
  admin_.shards.Clear();
  admin_.operations.Clear();
  admin_.rollouts.Clear();
  admin_.maintenances.Clear();
  for (const char* line :
       {"get apps", "get servers", "get shards -a kv", "get operations", "get app kv",
        "get server kv-1", "get shard s -a kv", "get operation o", "describe app kv",
        "describe server kv-1", "describe shard s -a kv", "describe operation o", "get shards",
        "describe shard s", "rollout status", "maintenance list", "maintenance list c"}) {
    Session(line);
  }
}

}  // namespace
}  // namespace shardmanager::cli
