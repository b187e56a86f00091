#include "wire/shard_server_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "model/request_metadata.h"
#include "model/traffic/request_times.h"
#include "shardmanager/v1/shard_server.grpc.pb.h"
#include "tests/coordination/tcp_proxy.h"

namespace shardmanager::wire {
namespace {

using Held = absl::StatusOr<orchestrator::Holdings>;

// Says what it holds when it is told to, and gives nothing away.
class SlowServer final : public v1::ShardServer::Service {
 public:
  SlowServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~SlowServer() override { server_->Shutdown(); }

  int port() const { return port_; }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  void Answer() {
    std::lock_guard lock(mutex_);
    may_answer_ = true;
    changed_.notify_all();
  }

 private:
  grpc::Status CollectLoad(grpc::ServerContext*, const v1::CollectLoadRequest*,
                           v1::CollectLoadResponse* response) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return may_answer_; });
    response->add_shards()->set_shard("held");
    (*response->mutable_capacity())["disk"] = 150;
    return grpc::Status::OK;
  }

  // Its shards have requests in flight.
  grpc::Status ChangeRole(grpc::ServerContext*, const v1::ChangeRoleRequest* request,
                          grpc::ServerWriter<v1::ShardResults>* writer) override {
    v1::ShardResults results;
    for (const v1::ShardGrant& grant : request->shards()) {
      v1::ShardResult* result = results.add_results();
      result->set_shard(grant.shard());
      result->set_epoch(grant.epoch());
      result->set_state(v1::CALLED_OFF);
      result->set_error("requests in flight");
      result->set_serving_epoch(grant.epoch() - 2);
    }
    writer->Write(results);
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_answer_ = false;
  std::unique_ptr<grpc::Server> server_;
};

orchestrator::ServerAddress At(const std::string& endpoint) {
  return {AppName("kv"), ServerName("kv-1"), Incarnation(1), LeaderEpoch(1), endpoint};
}

std::future<Held> Ask(ShardServerClient& client, const std::string& endpoint) {
  auto answer = std::make_shared<std::promise<Held>>();
  client.Collect(At(endpoint), [answer](Held held) { answer->set_value(std::move(held)); });
  return answer->get_future();
}

// Nobody listens below port 1024 here: refused at once.
std::string FormerEndpoint(int life) { return "127.0.0.1:" + std::to_string(100 + life); }

TEST(ShardServerClientTest, DropsConnectionsThatNobodyUsesAnyMore) {
  ShardServerClient client({.keep_unused = Duration(0), .transport = Transport::Insecure()});
  for (int life = 0; life < 20; ++life) {
    EXPECT_TRUE(absl::IsUnavailable(Ask(client, FormerEndpoint(life)).get().status()));
  }
  // A call may still be about to let go of its connection when its answer is here: that
  // one goes with a later call.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (client.connections() > 1 && std::chrono::steady_clock::now() < deadline) {
    (void)Ask(client, FormerEndpoint(0)).get();
  }
  EXPECT_EQ(client.connections(), 1u);
}

TEST(ShardServerClientTest, KeepsConnectionsForAWhile) {
  ShardServerClient client({.transport = Transport::Insecure()});
  for (int life = 0; life < 5; ++life) (void)Ask(client, FormerEndpoint(life)).get();
  EXPECT_EQ(client.connections(), 5u);
}

TEST(ShardServerClientTest, KeepsTheConnectionOfACallUnderWay) {
  SlowServer server;
  ShardServerClient client({.keep_unused = Duration(0), .transport = Transport::Insecure()});
  std::future<Held> slow = Ask(client, server.endpoint());
  for (int life = 0; life < 5; ++life) (void)Ask(client, FormerEndpoint(life)).get();
  EXPECT_GE(client.connections(), 2u);
  server.Answer();
  const Held held = slow.get();
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->held.at(0).shard, "held");
  EXPECT_EQ(held->capacity.at(0).metric, "disk");
  EXPECT_EQ(held->capacity.at(0).amount, 150);
}

TEST(ShardServerClientTest, TakesNoMoreMetricsAndRegionsThanThereMayBe) {
  v1::CollectLoadResponse response;
  v1::HeldShard& shard = *response.add_shards();
  for (int i = 0; i < 100; ++i) {
    (*shard.mutable_load())[absl::StrCat("m-", i)] = i;
    (*shard.mutable_requests_by_region())[absl::StrCat("r-", i)] = 1;
    (*response.mutable_capacity())[absl::StrCat("m-", i)] = i;
  }
  const orchestrator::Holdings holdings = ToHoldings(response);
  EXPECT_EQ(holdings.held.at(0).requests.size(), 64u);
  EXPECT_EQ(holdings.capacity.size(), 64u);
  EXPECT_EQ(holdings.held.at(0).load.size(), 64u);
}

TEST(ShardServerClientTest, TakesNoMoreOfTheCountsOfRequestsThanMakesSense) {
  v1::CollectLoadResponse response;
  response.set_counted_ms(uint64_t{1} << 63);
  for (int shard = 0; shard < 100; ++shard) {
    v1::ShardTraffic& traffic = *response.add_traffic();
    traffic.set_requests(3);
    traffic.set_errors(5);
    for (int i = 0; i < 100; ++i) traffic.add_times(1);
  }
  v1::KeySample& keys = *response.mutable_keys();
  keys.add_by_hash(1);
  for (int i = 0; i < 100; ++i) {
    v1::FrequentKey& key = *keys.add_top();
    key.set_key(std::string(static_cast<size_t>(250 + i % 10), 'k'));
    key.set_count(2);
    key.set_error(3);
  }
  const orchestrator::CountedTraffic counted = ToHoldings(response).traffic;
  EXPECT_EQ(counted.counted_for, Seconds(24 * 3'600));
  ASSERT_EQ(counted.shards.size(), 16U);
  EXPECT_EQ(counted.shards[0].errors, 3U);
  EXPECT_EQ(counted.shards[0].times.size(), kTimeClasses);
  EXPECT_EQ(counted.keys.one_in, 1U) << "0 is no number of requests";
  EXPECT_EQ(counted.keys.by_hash.size(), 0U) << "there must be 64";
  EXPECT_EQ(counted.keys.top.size(), 8U);
  for (const orchestrator::SampledKey& key : counted.keys.top) {
    EXPECT_LE(key.key.size(), request_metadata::kLongestNamedKey);
    EXPECT_LE(key.error, key.count);
  }
}

TEST(ShardServerClientTest, TellsUnderWhichGrantItServesOnWhatWasCalledOff) {
  SlowServer server;
  ShardServerClient client({.transport = Transport::Insecure()});
  std::promise<std::vector<orchestrator::NamedResult>> answer;
  client.Send(At(server.endpoint()),
              {.kind = CommandKind::kChangeRole,
               .grants = {{ShardId("s"), Role::kSecondary, ShardEpoch(7), ShardEpoch()}}},
              Seconds(5), [&](std::vector<orchestrator::NamedResult> results) {
                answer.set_value(std::move(results));
              });
  const std::vector<orchestrator::NamedResult> results = answer.get_future().get();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].outcome, orchestrator::CommandOutcome::kCalledOff);
  EXPECT_EQ(results[0].error, "requests in flight");
  EXPECT_EQ(results[0].epoch, ShardEpoch(7));
  EXPECT_EQ(results[0].serving_epoch, ShardEpoch(5));
}

// Seeds 6305, 13700 and 31486 of the simulation: a command that was lost, of which nobody heard for
// its whole time-out, kept a primary waiting for a member that had died meanwhile.
TEST(ShardServerClientTest, ACallOverADeadConnectionFailsLongBeforeItsTimeOut) {
  SlowServer server;
  TcpProxy proxy(server.port());
  ShardServerClient client(
      {.ping_after = Seconds(1), .give_up = Milliseconds(500), .transport = Transport::Insecure()});
  const std::string endpoint = "127.0.0.1:" + std::to_string(proxy.port());
  std::promise<std::vector<orchestrator::NamedResult>> answer;
  const auto ask = [&] {
    client.Send(At(endpoint),
                {.kind = CommandKind::kChangeRole,
                 .grants = {{ShardId("s"), Role::kSecondary, ShardEpoch(7), ShardEpoch()}}},
                Seconds(60), [&](std::vector<orchestrator::NamedResult> results) {
                  answer.set_value(std::move(results));
                });
    return answer.get_future();
  };
  ASSERT_EQ(ask().get().at(0).outcome, orchestrator::CommandOutcome::kCalledOff);

  proxy.Set(TcpProxy::Mode::kBlackhole);
  answer = {};
  std::future<std::vector<orchestrator::NamedResult>> lost = ask();
  ASSERT_EQ(lost.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(lost.get().at(0).outcome, orchestrator::CommandOutcome::kUnreachable);
}

// Destroyed while its calls are ending by themselves, on gRPC's threads.
TEST(ShardServerClientTest, MayGoWhileItsCallsEnd) {
  for (int round = 0; round < 300; ++round) {
    ShardServerClient client({.transport = Transport::Insecure()});
    for (int call = 0; call < 20; ++call) {
      client.Collect(At(FormerEndpoint(call % 2)), [](const Held&) {});
      client.Send(At(FormerEndpoint(call % 2)),
                  {.kind = static_cast<CommandKind>(call % 4),
                   .grants = {{ShardId("s"), Role::kPrimary, ShardEpoch(1), ShardEpoch(2)}}},
                  Seconds(5), [](const std::vector<orchestrator::NamedResult>&) {});
    }
  }
}

}  // namespace
}  // namespace shardmanager::wire
