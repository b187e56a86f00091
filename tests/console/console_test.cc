// The console's data and its doors; the pages are looked at by console_browser.
#include "console/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "console/files.h"
#include "tests/console/fake_source.h"
#include "tests/support/http_get.h"

namespace shardmanager::console {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ConsoleApiTest : public ::testing::Test {
 protected:
  std::string Get(const std::string& name, const std::string& query = "") {
    const HttpResponse response = api_.Get(name, {.query = query});
    last_status_ = response.status;
    return response.body;
  }

  TimePoint now_{Seconds(1'000)};
  FakeSource source_{250, 6};
  int64_t wall_ms_ = 5'000;
  ConsoleApi api_{source_,
                  {.now = [this] { return now_; }, .wall_ms = [this] { return wall_ms_; }}};
  int last_status_ = 0;
};

TEST_F(ConsoleApiTest, PagesThroughTheShards) {
  const std::string page = Get("shards", "app=kv&offset=240&limit=100");
  EXPECT_EQ(last_status_, 200);
  EXPECT_THAT(page, AllOf(HasSubstr("\"all\":250,\"total\":250,\"offset\":240"),
                          HasSubstr("[\"users-000240\",\"serving\",\"\",[[\"kv-0\",\"primary\","
                                    "\"serving\"],[\"kv-1\",\"secondary\",\"serving\"]],40,\"\"]"),
                          HasSubstr("users-000249"), Not(HasSubstr("users-000239"))));
  EXPECT_THAT(Get("shards", "app=kv&offset=1000"), HasSubstr("\"rows\":[]"));
}

TEST_F(ConsoleApiTest, FiltersByNameStateServerAndRegion) {
  source_.shard(7).set_state("unserved");
  source_.shard(8).mutable_replicas(0)->set_state("loading");
  EXPECT_THAT(Get("shards", "app=kv&filter=USERS-00001"), HasSubstr("\"total\":10,"));
  EXPECT_THAT(Get("shards", "app=kv&state=unserved"),
              AllOf(HasSubstr("\"total\":1,"), HasSubstr("users-000007")));
  EXPECT_THAT(Get("shards", "app=kv&state=moving"),
              AllOf(HasSubstr("\"total\":1,"), HasSubstr("users-000008")));
  EXPECT_THAT(Get("shards", "app=kv&server=kv-2&filter=users-00000"), HasSubstr("\"total\":4,"));
  EXPECT_THAT(Get("shards", "app=kv&region=region-1&filter=users-00000"),
              HasSubstr("\"total\":7,"));
  EXPECT_THAT(Get("shards", "app=kv&server=nobody"), HasSubstr("\"total\":0,"));
}

TEST_F(ConsoleApiTest, SortsTheWorstFirstAndTheBusiestFirst) {
  source_.shard(100).set_state("degraded");
  source_.shard(200).set_state("unserved");
  const std::string worst = Get("shards", "app=kv&sort=state&limit=2");
  EXPECT_LT(worst.find("users-000200"), worst.find("users-000100"));
  EXPECT_THAT(Get("shards", "app=kv&sort=requests&limit=1"), HasSubstr("users-000099"));
  EXPECT_THAT(Get("shards", "app=kv&order=descending&limit=1"), HasSubstr("users-000249"));
}

TEST_F(ConsoleApiTest, NamesWhatIsWrongAndWhatIsAllowed) {
  EXPECT_EQ(Get("shards", "app=kv&limit=x"),
            "{\"error\":\"limit: found \\\"x\\\"; allowed: 1 to 1000\"}");
  EXPECT_EQ(last_status_, 400);
  EXPECT_THAT(Get("shards", "app=kv&limit=1001"), HasSubstr("1 to 1000"));
  EXPECT_THAT(Get("shards", "app=kv&sort=colour"), HasSubstr("key, state, requests, name"));
  EXPECT_THAT(Get("shards", "limit=1"), HasSubstr("app: found"));
  EXPECT_THAT(Get("shards", "app=kv&colour=red"), HasSubstr("parameter: found \\\"colour\\\""));
  EXPECT_EQ(last_status_, 400);
  Get("shards", "app=nobody");
  EXPECT_EQ(last_status_, 404);
  Get("nothing");
  EXPECT_EQ(last_status_, 404);
}

TEST_F(ConsoleApiTest, AsksTheDecidingThreadOnceASecondAtMost) {
  for (int i = 0; i < 5; ++i) Get("shards", "app=kv");
  EXPECT_EQ(source_.asked_shards, 1);
  now_ += Milliseconds(900);
  Get("shards", "app=kv&filter=1");
  EXPECT_EQ(source_.asked_shards, 1);
  now_ += Milliseconds(200);
  Get("shards", "app=kv");
  EXPECT_EQ(source_.asked_shards, 2);
}

TEST_F(ConsoleApiTest, AsksSeldomerWhereAnAnswerTakesLong) {
  int made = 0;
  Kept<int> kept(
      [&](const std::string&) {
        now_ += Milliseconds(500);
        return ++made;
      },
      [this] { return now_; });
  EXPECT_EQ(**kept.Get(""), 1);
  now_ += Milliseconds(4'400);
  EXPECT_EQ(**kept.Get(""), 1) << "a tenth of the time at most";
  now_ += Milliseconds(200);
  EXPECT_EQ(**kept.Get(""), 2);
}

TEST_F(ConsoleApiTest, AStandbyShowsNoDataAndNamesTheLeader) {
  Get("shards", "app=kv");
  source_.status.set_leading(false);
  source_.status.set_leader_endpoint("sm-2:7400");
  now_ += Seconds(2);
  const std::string refused = Get("shards", "app=kv");
  EXPECT_EQ(last_status_, 503);
  EXPECT_THAT(refused, HasSubstr("\"leader\":\"sm-2:7400\""));
  Get("history");
  EXPECT_EQ(last_status_, 503);
  EXPECT_EQ(source_.asked_history, 0);
  EXPECT_THAT(Get("status"), HasSubstr("\"leading\":false"));
  EXPECT_EQ(last_status_, 200);
  source_.status.set_cut_off_ms(3'000);
  now_ += Seconds(2);
  EXPECT_THAT(Get("apps"), HasSubstr("cut off from ZooKeeper"));
}

TEST_F(ConsoleApiTest, NamesCannotEndTheJson) {
  source_.shard(0).set_shard("a\"]}</script>\n");
  EXPECT_THAT(Get("shards", "app=kv&limit=1"),
              HasSubstr("[\"a\\\"]}\\u003c/script\\u003e\\n\",\"serving\""));
}

TEST_F(ConsoleApiTest, AsksTheHistoryForWhatIsFiltered) {
  wall_ms_ = 1'790'000'012'345;
  Get("history",
      "app=kv&server=kv-1&shard=s%201&operation=r/"
      "1&kind=changes&since=hour&limit=7&page_token=1.2.3");
  EXPECT_EQ(last_status_, 200);
  EXPECT_EQ(source_.history_request.ShortDebugString(),
            "app: \"kv\" server: \"kv-1\" shard: \"s 1\" operation: \"r/1\" kinds: \"AdminChange\" "
            "kinds: \"ChangeDenied\" since_ms: 1789996380000 limit: 7 page_token: \"1.2.3\"");
  Get("history", "since=day");
  EXPECT_EQ(source_.history_request.ShortDebugString(), "since_ms: 1789913580000 limit: 100");
  Get("history", "kind=all&since=all");
  EXPECT_EQ(source_.history_request.ShortDebugString(), "limit: 100");
}

TEST_F(ConsoleApiTest, HistorySaysWhoKeptWhatAndWhereOlderEntriesAre) {
  v1::ControlEvent& event = *source_.history->add_events();
  event.set_kind("AdminChange");
  event.set_by("operator/alice");
  event.set_message("Drain: </script>");
  event.add_changes("+ drains");
  source_.history->set_older_page_token("7.1.2");
  source_.history->set_process("sm-1/4711");
  source_.history->set_reaches_back_ms(6);
  source_.history->set_problem("disk full");
  EXPECT_THAT(Get("history"),
              AllOf(HasSubstr("\"by\":\"operator/alice\""), HasSubstr("\"changes\":[\"+ drains\"]"),
                    Not(HasSubstr("</script>")), HasSubstr("\"olderPageToken\":\"7.1.2\""),
                    HasSubstr("\"process\":\"sm-1/4711\""), HasSubstr("\"reachesBackMs\":\"6\""),
                    HasSubstr("\"problem\":\"disk full\"")));
}

TEST_F(ConsoleApiTest, HistoryNamesWhatIsWrongAndWhatIsAllowed) {
  EXPECT_EQ(Get("history", "kind=MoveStarted"),
            "{\"error\":\"kind: found \\\"MoveStarted\\\"; allowed: all, changes\"}");
  EXPECT_EQ(last_status_, 400);
  EXPECT_THAT(Get("history", "since=2h"), HasSubstr("allowed: hour, day, all"));
  EXPECT_THAT(Get("history", "limit=201"), HasSubstr("allowed: 1 to 200"));
  EXPECT_THAT(Get("history", "limit=0"), HasSubstr("allowed: 1 to 200"));
  EXPECT_THAT(Get("history", "before=1"), HasSubstr("parameter: found \\\"before\\\""));
  EXPECT_EQ(source_.asked_history, 0) << "what is wrong is not asked";
  source_.history =
      absl::InvalidArgumentError("page_token: found \"x\"; allowed: one of an answer");
  EXPECT_THAT(Get("history", "page_token=x"), HasSubstr("page_token: found"));
  EXPECT_EQ(last_status_, 400);
}

TEST_F(ConsoleApiTest, AHistoryThatIsNotThereIsNoEmptyOne) {
  source_.history = absl::FailedPreconditionError("sm-1/4711 keeps no history");
  EXPECT_EQ(Get("history"), "{\"error\":\"sm-1/4711 keeps no history\"}");
  EXPECT_EQ(last_status_, 503);
  source_.history = absl::DataLossError("run: database disk image is malformed");
  EXPECT_THAT(Get("history"), HasSubstr("malformed"));
  EXPECT_EQ(last_status_, 500);
  source_.history = absl::NotFoundError("nothing is kept of an app \"x\"");
  Get("history", "app=x");
  EXPECT_EQ(last_status_, 404);
  source_.history = v1::GetHistoryResponse();
  Get("history");
  EXPECT_EQ(last_status_, 200) << "as soon as it is there";
}

TEST_F(ConsoleApiTest, AsksTheHistoryTheSameOnceASecondAtMost) {
  wall_ms_ = 1'790'000'000'000;
  for (int i = 0; i < 5; ++i) {
    Get("history", "app=kv&since=hour");
    wall_ms_ += 100;
  }
  EXPECT_EQ(source_.asked_history, 1);
  Get("history", "app=mail&since=hour");
  EXPECT_EQ(source_.asked_history, 2);
  now_ += Milliseconds(1'100);
  Get("history", "app=kv&since=hour");
  EXPECT_EQ(source_.asked_history, 3);
}

TEST_F(ConsoleApiTest, KeepsSoManyAnswersAtMost) {
  int made = 0;
  Kept<int> kept([&](const std::string&) { return ++made; }, [this] { return now_; }, /*most=*/2);
  for (const char* name : {"a", "b", "a", "c", "a"}) {
    ASSERT_TRUE(kept.Get(name).ok());
    now_ += Milliseconds(1);
  }
  EXPECT_EQ(made, 3) << "what was asked for lately stays";
  ASSERT_TRUE(kept.Get("b").ok());
  EXPECT_EQ(made, 4) << "what was asked for before that went";
}

TEST_F(ConsoleApiTest, AWhatIfIsCheckedAndBounded) {
  const auto ask = [&](const std::string& body) {
    const HttpResponse response = api_.Post("whatif", {.query = "app=kv", .body = body});
    last_status_ = response.status;
    return response.body;
  };
  EXPECT_THAT(ask("nonsense"), HasSubstr("body: found what is no ImaginedChange"));
  EXPECT_EQ(last_status_, 400);
  source_.apps.mutable_apps(0)->set_replicas_wanted(Imagining::kMostReplicas + 1);
  EXPECT_THAT(ask("{}"), HasSubstr("shardctl simulate"));
  EXPECT_EQ(last_status_, 503);
}

class ConsoleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto console =
        Console::Start({.listen = "127.0.0.1:0", .hosts = {"console.example.com"}}, source_);
    ASSERT_TRUE(console.ok()) << console.status();
    console_ = *std::move(console);
  }
  std::string Ask(const std::string& method, const std::string& path, const std::string& host,
                  const std::string& more = "") const {
    const testing::Connection connection(console_->port());
    const std::string request =
        absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: ", host, "\r\n", more, "\r\n");
    return connection.Send(request) ? connection.ReadAll() : "";
  }

  FakeSource source_{10, 3};
  std::unique_ptr<Console> console_;
};

TEST_F(ConsoleTest, ServesItsPagesWithAPolicyThatAllowsNothingFromElsewhere) {
  const std::string page = Ask("GET", "/", "localhost:7480");
  EXPECT_THAT(page,
              AllOf(HasSubstr("200 OK"), HasSubstr("text/html"), HasSubstr("ETag: "),
                    HasSubstr("Content-Security-Policy: default-src 'self';"),
                    HasSubstr("X-Content-Type-Options: nosniff"), HasSubstr("<!doctype html>")));
  EXPECT_THAT(Ask("GET", "/app.js", "127.0.0.1"), HasSubstr("text/javascript"));
  EXPECT_THAT(Ask("GET", "/../app.js", "127.0.0.1"), HasSubstr("text/javascript"));
  EXPECT_THAT(Ask("GET", "/etc/passwd", "127.0.0.1"), HasSubstr("404 Not Found"));
}

TEST_F(ConsoleTest, NoScriptOrStyleIsInThePageItself) {
  for (const File& file : Files()) {
    if (file.path != "/") continue;
    EXPECT_THAT(std::string(file.content), Not(HasSubstr("<style")));
    EXPECT_THAT(std::string(file.content), Not(HasSubstr("https://")));
    EXPECT_THAT(std::string(file.content), HasSubstr("<script type=\"module\" src="));
  }
  for (const File& file : Files()) {
    EXPECT_THAT(std::string(file.content), Not(HasSubstr("innerHTML"))) << file.path;
  }
}

// Else a browser asks for them one after the other, as it finds the imports.
TEST_F(ConsoleTest, AllModulesAreFetchedAtTheSameTime) {
  const auto page = std::find_if(Files().begin(), Files().end(),
                                 [](const File& file) { return file.path == "/"; });
  ASSERT_NE(page, Files().end());
  for (const File& file : Files()) {
    if (!file.path.ends_with(".js")) continue;
    EXPECT_THAT(std::string(page->content),
                HasSubstr(absl::StrCat("=\"", std::string(file.path), "\">")));
  }
}

// Browsers open some ahead of their use.
TEST_F(ConsoleTest, AnUnusedConnectionIsNotCutOffSoon) {
  const testing::Connection unused(console_->port());
  ASSERT_TRUE(unused.connected());
  EXPECT_TRUE(unused.StaysIdle(std::chrono::milliseconds(3'000)));
}

TEST_F(ConsoleTest, AnswersWhoCallsItByItsNamesOnly) {
  for (const char* host : {"localhost:1", "127.0.0.1", "[::1]:7480", "Console.example.com:443"}) {
    EXPECT_THAT(Ask("GET", "/api/v1/status", host), HasSubstr("200 OK")) << host;
  }
  for (const char* host : {"evil.com", "127.0.0.1.evil.com", "", "localhost.evil.com:80"}) {
    EXPECT_THAT(Ask("GET", "/api/v1/status", host),
                AllOf(HasSubstr("403 Forbidden"), HasSubstr("--console-host")))
        << host;
  }
}

TEST_F(ConsoleTest, PagesFromElsewhereCannotPost) {
  const std::string length = "Content-Length: 0\r\n";
  EXPECT_THAT(Ask("POST", "/api/v1/whatif?app=kv", "localhost", length),
              HasSubstr("403 Forbidden"));
  EXPECT_THAT(Ask("POST", "/api/v1/whatif?app=kv", "localhost", length + "X-Console: 1\r\n"),
              HasSubstr("400 Bad Request"));
  EXPECT_THAT(Ask("POST", "/", "localhost", length), HasSubstr("405 Method Not Allowed"));
}

TEST_F(ConsoleTest, ListensForThisMachineUnlessItIsToldOtherwise) {
  for (const char* listen : {"0.0.0.0:0", "10.0.0.5:7480", "[::]:0"}) {
    const auto refused = Console::Start({.listen = listen}, source_);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << listen;
    EXPECT_THAT(
        std::string(refused.status().message()),
        AllOf(HasSubstr("neither TLS nor a login"), HasSubstr("--console-open-to-network")));
  }
  EXPECT_TRUE(Console::Start({.listen = "0.0.0.0:0", .open_to_network = true}, source_).ok());
  for (const char* listen : {"7480", ":7480", "127.0.0.1:", "127.0.0.1:99999"}) {
    EXPECT_THAT(std::string(Console::Start({.listen = listen}, source_).status().message()),
                HasSubstr("allowed: HOST:PORT"))
        << listen;
  }
}

TEST_F(ConsoleTest, SaysWhichAddressIsTaken) {
  const auto second =
      Console::Start({.listen = absl::StrCat("127.0.0.1:", console_->port())}, source_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("--console-listen"));
}

}  // namespace
}  // namespace shardmanager::console
