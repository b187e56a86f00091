// What clients say of servers reaches the publisher, also through a relay, and suspects come back.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
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
#include "model/server_view.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "tests/discovery/discovery_server.h"
#include "wire/discovery_relay.h"

namespace shardmanager::discovery {
namespace {

using ::testing::HasSubstr;

const AppName kApp("kv");

v1::ServerSeen Seen(const std::string& server, uint32_t in_trouble, uint32_t well) {
  v1::ServerSeen seen;
  seen.set_server(server);
  seen.set_no_answer(in_trouble);
  seen.set_well(well);
  return seen;
}

// A client that says what the test says.
class SayingSink final : public wire::MapSink {
 public:
  void OnSnapshot(WholeMap) override {}
  bool OnDelta(v1::MapDelta) override { return true; }
  v1::ReportServersRequest Report() override {
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

wire::DiscoveryClientOptions QuickReporter(const std::string& endpoint) {
  wire::DiscoveryClientOptions options = QuickClient({endpoint});
  options.report_interval = Milliseconds(20);
  return options;
}

class Reporter {
 public:
  explicit Reporter(const std::string& endpoint) : client_(QuickReporter(endpoint)) {
    watch_ = client_.Watch(kApp, std::nullopt, sink_);
  }
  SayingSink& sink() { return sink_; }

 private:
  SayingSink sink_;
  wire::DiscoveryClient client_;
  std::unique_ptr<wire::MapWatch> watch_;
};

std::vector<std::string> Lines(ReportDesk& desk) {
  std::vector<std::string> lines;
  const v1::ReportServersRequest sum = desk.Sum(kApp);
  for (const v1::ServerSeen& seen : sum.servers()) {
    lines.push_back(absl::StrCat(seen.server(), " ", ViewOf(seen).in_trouble(), "/", seen.well()));
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
  ReportsTest() { hub_.Publish(kApp, MakeSnapshot({1, 1}, {{0, 0}})); }

  absl::StatusCode Send(const v1::ReportServersRequest& report, std::string* message) {
    const auto stub = v1::Discovery::NewStub(
        grpc::CreateChannel(publisher_.endpoint(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::ReportServersResponse response;
    const grpc::Status status = stub->ReportServers(&context, report, &response);
    *message = status.error_message();
    return static_cast<absl::StatusCode>(status.error_code());
  }

  Hub hub_;
  ReportDesk desk_{hub_};
  DiscoveryServer publisher_{
      hub_,
      0,
      {.heartbeat = Milliseconds(50), .reports = &desk_, .gate = wire::Gate::OfAnOpenCell()}};
};

TEST_F(ReportsTest, WhoeverIsWellHearsOfSuspectsAndSaysSo) {
  Reporter one(publisher_.endpoint());
  Reporter other(publisher_.endpoint());
  one.sink().Say({Seen("kv-1", 1, 0)});
  EXPECT_TRUE(other.sink().AwaitSuspects({"kv-1"}));
  other.sink().Say({Seen("kv-1", 0, 1)});
  EXPECT_TRUE(AwaitLines(desk_, {"kv-1 1/1"}));
  one.sink().Say({});
  EXPECT_TRUE(other.sink().AwaitSuspects({}));
}

TEST_F(ReportsTest, WhoComesLaterHearsOfSuspectsAtOnce) {
  Reporter one(publisher_.endpoint());
  one.sink().Say({Seen("kv-1", 1, 0)});
  EXPECT_TRUE(AwaitLines(desk_, {"kv-1 1/0"}));
  Reporter later(publisher_.endpoint());
  EXPECT_TRUE(later.sink().AwaitSuspects({"kv-1"}));
}

TEST_F(ReportsTest, ARelayAddsUpItsClientsAndPassesSuspectsOn) {
  wire::DiscoveryRelay relay(QuickReporter(publisher_.endpoint()));
  DiscoveryServer relay_server(relay.hub(), 0,
                               {.heartbeat = Milliseconds(50),
                                .reports = &relay.reports(),
                                .gate = wire::Gate::OfAnOpenCell()});
  Reporter direct(publisher_.endpoint());
  Reporter one(relay_server.endpoint());
  Reporter other(relay_server.endpoint());
  direct.sink().Say({Seen("kv-7", 1, 0)});
  EXPECT_TRUE(one.sink().AwaitSuspects({"kv-7"})) << "of a client elsewhere";
  for (Reporter* reporter : {&one, &other}) {
    reporter->sink().Say({Seen("kv-2", 1, 0), Seen("kv-7", 0, 1)});
  }
  EXPECT_TRUE(AwaitLines(desk_, {"kv-2 2/0", "kv-7 1/2"}));
  EXPECT_TRUE(direct.sink().AwaitSuspects({"kv-2", "kv-7"}));
  for (Reporter* reporter : {&direct, &one, &other}) reporter->sink().Say({});
  EXPECT_TRUE(AwaitLines(desk_, {}));
  EXPECT_TRUE(one.sink().AwaitSuspects({}));
}

TEST_F(ReportsTest, WhatCannotBeTakenIsRefusedAndNamed) {
  v1::ReportServersRequest report;
  std::string message;
  report.set_app("other");
  report.set_reporter(1);
  EXPECT_EQ(Send(report, &message), absl::StatusCode::kNotFound);
  EXPECT_THAT(message, HasSubstr("\"other\""));
  report.set_app("kv");
  report.set_reporter(0);
  EXPECT_EQ(Send(report, &message), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message, HasSubstr("reporter"));
  report.set_reporter(1);
  *report.add_servers() = Seen(std::string(2 << 20, 'x'), 1, 0);
  EXPECT_EQ(Send(report, &message), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message, HasSubstr("allowed: at most 1048576"));
}

TEST(ReportsWithoutADeskTest, AreRefusedAndHarmNobody) {
  Hub hub;
  DiscoveryServer publisher(hub);
  Reporter reporter(publisher.endpoint());
  reporter.sink().Say({Seen("kv-1", 1, 0)});
  hub.Publish(kApp, MakeSnapshot({1, 1}, {{0, 0}}));
  RecordingSink sink;
  wire::DiscoveryClient client(QuickReporter(publisher.endpoint()));
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  EXPECT_TRUE(sink.AwaitVersion({1, 1}));
}

// While a report waits for its answer, too.
TEST_F(ReportsTest, AClientEndsAtOnce) {
  for (int i = 0; i < 20; ++i) {
    Reporter reporter(publisher_.endpoint());
    reporter.sink().Say({Seen("kv-1", 1, 0)});
  }
  Reporter nowhere("127.0.0.1:1");
  nowhere.sink().Say({Seen("kv-1", 1, 0)});
}

}  // namespace
}  // namespace shardmanager::discovery
