// shard-discoveryd as people and scripts meet it: a process.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/child_process.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "tests/discovery/discovery_server.h"
#include "tests/support/http_get.h"

namespace shardmanager::discovery {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr MapVersion V(uint64_t sequence) { return {1, sequence}; }
const AppName kApp("kv");

class Discoveryd {
 public:
  explicit Discoveryd(std::vector<std::string> arguments) {
    static int count = 0;
    log_ = std::filesystem::path(::testing::TempDir()) /
           ("discoveryd-" + std::to_string(getpid()) + "-" + std::to_string(++count) + ".log");
    arguments.insert(arguments.begin(),
                     std::string(std::getenv("SM_BIN_DIR")) + "/shard-discoveryd");
    arguments.emplace_back("--insecure");
    auto started = ChildProcess::Start({.argv = arguments, .environment = {}, .log_file = log_});
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) process_ = std::move(*started);
  }
  ~Discoveryd() { std::filesystem::remove(log_); }

  ChildProcess& process() { return process_; }
  // REQUIRES: it ends by itself.
  int ExitCode() { return process_.Wait(20s).value_or(-1); }
  std::string Said() const {
    std::stringstream said;
    said << std::ifstream(log_).rdbuf();
    return said.str();
  }

 private:
  std::string log_;
  ChildProcess process_;
};

std::string Endpoint(int port) { return "127.0.0.1:" + std::to_string(port); }

TEST(DiscoverydTest, RelaysUntilItIsToldToStop) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  DiscoveryServer upstream(hub);
  const std::string listen = Endpoint(FreePort());
  Discoveryd discoveryd({"--upstream", upstream.endpoint(), "--listen", listen});
  RecordingSink sink;
  {
    wire::DiscoveryClient client(QuickClient({listen}));
    const auto watch = client.Watch(kApp, std::nullopt, sink);
    ASSERT_TRUE(sink.AwaitVersion(V(1))) << discoveryd.Said();
    hub.Publish(kApp, MakeDelta(V(1), V(2), 1, {7}));
    ASSERT_TRUE(sink.AwaitVersion(V(2)));
    discoveryd.process().Signal(SIGTERM);
    ASSERT_TRUE(sink.AwaitLost()) << "subscribers are told at once";
  }
  EXPECT_EQ(discoveryd.ExitCode(), 0) << discoveryd.Said();
}

// The value of a metric in the answer to a scrape; -1: it is not there.
double ValueIn(const std::string& scrape, const std::string& metric) {
  const size_t at = scrape.find("\n" + metric + " ");
  return at == std::string::npos ? -1 : std::stod(scrape.substr(at + metric.size() + 2));
}

constexpr char kUpdates[] = "shardmanager_discovery_updates_total";
constexpr char kRefused[] = "shardmanager_discovery_updates_refused_total";

// Once so many updates are counted: all metrics are brought up to date together, once a second.
std::string ScrapeOf(int port, double updates) {
  std::string scrape;
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (ValueIn(scrape, kUpdates) < updates && std::chrono::steady_clock::now() < deadline) {
    scrape = testing::HttpGet(port, "/metrics");
  }
  return scrape;
}

TEST(DiscoverydTest, ItsMetricsCountSubscribersAppsAndUpdates) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  DiscoveryServer upstream(hub);
  const std::string listen = Endpoint(FreePort());
  const int metrics = FreePort();
  Discoveryd discoveryd({"--upstream", upstream.endpoint(), "--listen", listen, "--metrics-listen",
                         Endpoint(metrics)});
  wire::DiscoveryClient client(QuickClient({listen}));
  RecordingSink first, second;
  const auto watch = client.Watch(kApp, std::nullopt, first);
  const auto other_watch = client.Watch(kApp, std::nullopt, second);
  ASSERT_TRUE(first.AwaitVersion(V(1))) << discoveryd.Said();
  ASSERT_TRUE(second.AwaitVersion(V(1)));
  for (uint64_t v = 1; v < 5; ++v) {  // one by one: those that wait would be joined into one
    hub.Publish(kApp, MakeDelta(V(v), V(v + 1), 1, {7}));
    ASSERT_TRUE(first.AwaitVersion(V(v + 1)));
  }
  ASSERT_TRUE(second.AwaitVersion(V(5)));

  EXPECT_EQ(ValueIn(ScrapeOf(metrics, 5), kUpdates), 5) << "a snapshot and four deltas";
  hub.Publish(kApp, MakeDelta(V(5), V(6), 1, {8}));
  const std::string scrape = ScrapeOf(metrics, 6);
  EXPECT_EQ(ValueIn(scrape, kUpdates), 6);
  EXPECT_EQ(ValueIn(scrape, "shardmanager_discovery_subscribers"), 2);
  EXPECT_EQ(ValueIn(scrape, "shardmanager_discovery_apps"), 1);
  EXPECT_EQ(ValueIn(scrape, "shardmanager_discovery_apps_connected"), 1);
  EXPECT_EQ(ValueIn(scrape, "shardmanager_discovery_apps_stale"), 0);
  EXPECT_EQ(ValueIn(scrape, kRefused), 0);
}

// Sends a map that names no servers, a sound one, and one more when it is let go.
class MisfitService final : public v1::Discovery::Service {
 public:
  void Release() { release_.set_value(); }

 private:
  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>* stream) override {
    const auto send = [stream](v1::MapSnapshot whole) {
      v1::WatchResponse response;
      *response.mutable_snapshot() = std::move(whole);
      stream->Write(response);
    };
    send(MakeSnapshot(V(1), {{0}}, /*servers=*/0));
    send(MakeSnapshot(V(2), {{0}}));
    released_.wait();
    send(MakeSnapshot(V(3), {{1}}));
    return grpc::Status::OK;
  }

  std::promise<void> release_;
  const std::shared_future<void> released_ = release_.get_future().share();
};

TEST(DiscoverydTest, ItsMetricsCountEachUpdateThatDoesNotFitOnce) {
  MisfitService misfit;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&misfit);
  const auto upstream = builder.BuildAndStart();
  const std::string listen = Endpoint(FreePort());
  const int metrics = FreePort();
  Discoveryd discoveryd(
      {"--upstream", Endpoint(port), "--listen", listen, "--metrics-listen", Endpoint(metrics)});
  wire::DiscoveryClient client(QuickClient({listen}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  EXPECT_TRUE(sink.AwaitVersion(V(2))) << discoveryd.Said();
  EXPECT_EQ(ValueIn(ScrapeOf(metrics, 1), kUpdates), 1);
  misfit.Release();
  EXPECT_TRUE(sink.AwaitVersion(V(3)));
  EXPECT_EQ(ValueIn(ScrapeOf(metrics, 2), kRefused), 1) << "brought up to date twice";
}

TEST(DiscoverydTest, ATakenPortIsAClearErrorAndNotSharedInSilence) {
  Hub hub;
  DiscoveryServer other(hub);
  Discoveryd discoveryd({"--listen", other.endpoint()});
  EXPECT_EQ(discoveryd.ExitCode(), 1);
  EXPECT_THAT(discoveryd.Said(),
              HasSubstr("error: cannot listen on " + other.endpoint() + ": is the port taken"));
}

TEST(DiscoverydTest, WrongFlagsAreRefused) {
  Discoveryd none({"--upstream", ","});
  EXPECT_EQ(none.ExitCode(), 2);
  EXPECT_THAT(none.Said(), HasSubstr("allowed: HOST:PORT[,...]"));
  Discoveryd unknown({"--upstrem", "x:1"});
  EXPECT_NE(unknown.ExitCode(), 0);
  EXPECT_THAT(unknown.Said(), HasSubstr("--upstrem"));
}

TEST(DiscoverydTest, HelpTeaches) {
  Discoveryd help({"--help"});
  EXPECT_EQ(help.ExitCode(), 0);
  EXPECT_THAT(help.Said(), AllOf(HasSubstr("--upstream"), HasSubstr("--listen"),
                                 HasSubstr("--metrics-listen"), HasSubstr("Examples:")));
}

}  // namespace
}  // namespace shardmanager::discovery
