// What clients see of servers reaches the publisher, also through a relay, and suspects come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/discovery/discovery_server.h"
#include "wire/discovery_relay.h"

namespace shardmanager::discovery {
namespace {


const AppName kApp("kv");

v1::ServerSeen Seen(const std::string& server, uint32_t in_trouble, uint32_t well) {
  v1::ServerSeen seen;
  seen.set_server(server);
  seen.set_in_trouble(in_trouble);
  seen.set_well(well);
  return seen;
}

// A client that says what the test says.
class SayingSink final : public wire::MapSink {
 public:
  void OnSnapshot(v1::MapSnapshot) override {}
  bool OnDelta(v1::MapDelta) override { return true; }
  std::optional<v1::ReportServersRequest> Report() override {
    std::lock_guard lock(mutex_);
    v1::ReportServersRequest report;
    for (const v1::ServerSeen& seen : says_) *report.add_servers() = seen;
    return report;
  }
  void OnSuspects(std::vector<std::string> suspects) override {
    std::lock_guard lock(mutex_);
    suspects_ = std::move(suspects);
    changed_.notify_all();
  }
  void Say(std::vector<v1::ServerSeen> says) {
    std::lock_guard lock(mutex_);
    says_ = std::move(says);
  }
  bool AwaitSuspects(const std::vector<std::string>& suspects) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return suspects_ == suspects; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::ServerSeen> says_;
  std::vector<std::string> suspects_;
};

// Reports are sent every 20 ms.
class Reporter {
 public:
  Reporter(const std::string& endpoint, const std::string& name)
      : client_(Options(endpoint, name)) {
    watch_ = client_.Watch(kApp, std::nullopt, sink_);
  }
  SayingSink& sink() { return sink_; }

  static wire::DiscoveryClientOptions Options(const std::string& endpoint,
                                              const std::string& name) {
    wire::DiscoveryClientOptions options = QuickClient({endpoint});
    options.subscriber = name;
    options.report_interval = Milliseconds(20);
    return options;
  }

 private:
  SayingSink sink_;
  wire::DiscoveryClient client_;
  std::unique_ptr<wire::MapWatch> watch_;
};

std::vector<std::string> Lines(ReportDesk& desk) {
  std::vector<std::string> lines;
  for (const v1::ServerSeen& seen : desk.Sum(kApp)) {
    lines.push_back(absl::StrCat(seen.server(), " ", seen.in_trouble(), "/", seen.well()));
  }
  return lines;
}

// Nobody announces that a report has come.
bool AwaitLines(ReportDesk& desk, const std::vector<std::string>& lines) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Lines(desk) != lines) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class ReportsTest : public ::testing::Test {
 protected:
  Hub hub_;
  ReportDesk desk_;
  DiscoveryServer publisher_{hub_, 0, {.heartbeat = Milliseconds(50), .reports = &desk_}};
};

TEST_F(ReportsTest, WhoeverIsWellHearsOfSuspectsAndSaysSo) {
  Reporter one(publisher_.endpoint(), "web-1");
  Reporter other(publisher_.endpoint(), "web-2");
  one.sink().Say({Seen("kv-1", 1, 0)});
  EXPECT_TRUE(other.sink().AwaitSuspects({"kv-1"}));
  other.sink().Say({Seen("kv-1", 0, 1)});
  EXPECT_TRUE(AwaitLines(desk_, {"kv-1 1/1"}));
  one.sink().Say({});
  EXPECT_TRUE(other.sink().AwaitSuspects({}));
}

TEST_F(ReportsTest, ARelayAddsUpItsClientsAndPassesSuspectsOn) {
  wire::DiscoveryRelay relay(Reporter::Options(publisher_.endpoint(), "relay"));
  DiscoveryServer relay_server(relay.hub(), 0,
                               {.heartbeat = Milliseconds(50), .reports = &relay.reports()});
  Reporter direct(publisher_.endpoint(), "web-0");
  Reporter one(relay_server.endpoint(), "web-1");
  Reporter other(relay_server.endpoint(), "web-2");
  direct.sink().Say({Seen("kv-7", 1, 0)});
  EXPECT_TRUE(one.sink().AwaitSuspects({"kv-7"})) << "of a client elsewhere";
  for (Reporter* reporter : {&one, &other}) {
    reporter->sink().Say({Seen("kv-2", 1, 0), Seen("kv-7", 0, 1)});
  }
  EXPECT_TRUE(AwaitLines(desk_, {"kv-2 2/0", "kv-7 1/2"}));
  EXPECT_TRUE(direct.sink().AwaitSuspects({"kv-2", "kv-7"}));
}

TEST(ReportsWithoutADeskTest, AreRefusedAndHarmNobody) {
  Hub hub;
  DiscoveryServer publisher(hub);
  RecordingSink sink;
  wire::DiscoveryClient client(Reporter::Options(publisher.endpoint(), "web-1"));
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  EXPECT_TRUE(sink.AwaitConnected());
}

}  // namespace
}  // namespace shardmanager::discovery
