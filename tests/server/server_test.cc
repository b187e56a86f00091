// A server of the SDK with a real ZooKeeper, over loopback.
#include "shardmanager/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "coordination/envelope.h"
#include "gmock/gmock.h"
#include "runtime/clock.h"
#include "tests/server/server_world.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;

const ShardId kShard("s");

class ServerTest : public ::testing::Test {
 protected:
  bool Admits(Server& server) { return server.Admit(kShard).ok(); }

  ServerWorld world_;
  RecordingHandler handler_;
};

TEST_F(ServerTest, ServesTheStoredAssignmentWithNoControlPlane) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  EXPECT_EQ(server.Admit(kShard).epoch(), ShardEpoch(5));
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5"));
}

TEST_F(ServerTest, LoadsOnlyWhatIsGranted) {
  world_.ApplyApp();
  v1::AssignedReplica reserved = Granted("reserved", 6);
  reserved.set_phase(v1::RESERVED);
  v1::AssignedReplica dropping = Granted("dropping", 7);
  dropping.set_phase(v1::DROPPING);
  world_.Assign("kv-1", {dropping, reserved, Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5"));
}

TEST_F(ServerTest, DropIsDoneOnlyWhenTheRequestInFlightHasEnded) {
  world_.ApplyApp();
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  Commander commander(server.endpoint(), "kv-1", 1);
  const auto added = commander.Add("s", 5);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->state(), v1::DONE);
  std::optional<Admission> request;
  ASSERT_TRUE(Eventually([&] {
    Admission admission = server.Admit(kShard);
    if (admission.ok()) request.emplace(std::move(admission));
    return request.has_value();
  }));

  auto dropped = std::async(std::launch::async, [&] { return commander.Drop("s", 5); });
  ASSERT_TRUE(Eventually([&] { return !Admits(server); }));
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5"));
  EXPECT_NE(dropped.wait_for(std::chrono::seconds(0)), std::future_status::ready);

  request.reset();
  const auto result = dropped.get();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->state(), v1::DONE);
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5", "drop s"));
}

// Loads of shards whose names begin with "slow" until it is let go.
class SlowHandler final : public ShardHandler {
 public:
  absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override {
    if (grant.shard.value().starts_with("slow")) {
      loading_.count_down();
      released_.wait();
    }
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { return absl::OkStatus(); }
  void AwaitLoads() { loading_.wait(); }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::latch loading_{ServerOptions().command_threads};
};

TEST_F(ServerTest, ADropThatIsCalledOffTellsUnderWhichGrantTheShardIsServedOn) {
  world_.ApplyApp();
  ServerOptions options = world_.Options("kv-1");
  options.drain_timeout = std::chrono::milliseconds(50);
  Server server(options);
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  Commander commander(server.endpoint(), "kv-1", 1);
  ASSERT_TRUE(commander.Add("s", 5).ok());
  std::optional<Admission> request;
  ASSERT_TRUE(Eventually([&] {
    request.emplace(server.Admit(kShard));
    return request->ok();
  }));
  const auto dropped = commander.Drop("s", 5);
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ(dropped->state(), v1::CALLED_OFF);
  EXPECT_EQ(dropped->serving_epoch(), 5u);
  EXPECT_TRUE(Admits(server));
}

TEST_F(ServerTest, LoadsThatTakeLongHoldUpNoHandover) {
  world_.ApplyApp();
  SlowHandler handler;
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler, {}).ok());
  std::vector<std::future<bool>> loads;
  for (int i = 0; i < ServerOptions().command_threads; ++i) {
    loads.push_back(std::async(std::launch::async, [&, i] {
      return Commander(server.endpoint(), "kv-1", 1).Add("slow-" + std::to_string(i), 5).ok();
    }));
  }
  handler.AwaitLoads();
  Commander commander(server.endpoint(), "kv-1", 1);
  const auto state = [](const absl::StatusOr<v1::ShardResult>& result) {
    return result.ok() ? result->state() : v1::FAILED;
  };
  EXPECT_EQ(state(commander.PrepareAdd("s", 6, "kv-2")), v1::DONE);
  EXPECT_EQ(state(commander.Add("s", 6)), v1::DONE);
  EXPECT_TRUE(Eventually([&] { return Admits(server); }));
  EXPECT_EQ(state(commander.PrepareDrop("s", 6, {"kv-3", "127.0.0.1:1", 7})), v1::DONE);
  EXPECT_EQ(state(commander.Drop("s", 6)), v1::DONE);
  handler.Release();
  for (auto& load : loads) EXPECT_TRUE(load.get());
}

TEST_F(ServerTest, F1_F7_RefusesDeposedLeadersAndCommandsForAnotherLife) {
  world_.ApplyApp();
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  Commander commander(server.endpoint(), "kv-1", 1);
  commander.leader_epoch = 8;
  ASSERT_TRUE(commander.Add("s", 5).ok());
  commander.leader_epoch = 7;
  EXPECT_TRUE(absl::IsAborted(commander.Drop("s", 6).status()));
  Commander former(server.endpoint(), "kv-1", 9);
  EXPECT_TRUE(absl::IsFailedPrecondition(former.Add("other", 5).status()));
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5"));
}

TEST_F(ServerTest, CollectLoadTellsOfTheRequestsSinceTheLastTime) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  Commander commander(server.endpoint(), "kv-1", 1);
  ASSERT_TRUE(commander.Collect().ok());
  const grpc::Status answer(grpc::StatusCode::NOT_FOUND, "no such key");
  EXPECT_EQ(&server.Admit(kShard).Ended(answer), &answer);
  server.Admit(kShard).Ended({grpc::StatusCode::INTERNAL, "the disk is gone"});
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(Admits(server));
  auto load = commander.Collect();
  ASSERT_TRUE(load.ok()) << load.status();
  ASSERT_EQ(load->traffic_size(), 1);
  const v1::ShardTraffic& traffic = load->traffic(0);
  EXPECT_EQ(traffic.shard(), "s");
  EXPECT_EQ(traffic.requests(), 32u);
  EXPECT_EQ(traffic.errors(), 1u) << "NOT_FOUND is about the request";
  uint32_t timed = 0;
  for (const uint32_t count : traffic.times()) timed += count;
  EXPECT_EQ(timed, 2u);
  load = commander.Collect();
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_EQ(load->traffic_size(), 0);
}

TEST_F(ServerTest, CollectLoadTellsWhatIsHeldAndHowLongTheLeaseLasts) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  const auto load = Commander(server.endpoint(), "kv-1", 1).Collect();
  ASSERT_TRUE(load.ok()) << load.status();
  ASSERT_EQ(load->shards_size(), 1);
  EXPECT_EQ(load->shards(0).epoch(), 5u);
  EXPECT_EQ(load->shards(0).state(), v1::DONE);
  EXPECT_GT(load->lease_remaining_ms(), 0u);
  EXPECT_LT(load->lease_remaining_ms(), uint64_t(ServerWorld::kSessionTimeout.count()));
}

TEST_F(ServerTest, WaitsForAnAppThatIsNotAppliedYet) {
  Server server(world_.Options("kv-1"));
  auto started = std::async(std::launch::async, [&] { return server.Start(handler_, {}); });
  world_.ApplyApp();
  EXPECT_TRUE(started.get().ok());
}

TEST_F(ServerTest, SecondProcessOfOneNameIsRefusedByNameOfTheFirst) {
  world_.ApplyApp();
  Server first(world_.Options("kv-1"));
  ASSERT_TRUE(first.Start(handler_, {}).ok());
  RecordingHandler other;
  Server second(world_.Options("kv-1"));
  const absl::Status status = second.Start(other, {});
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(first.endpoint()));
}

TEST_F(ServerTest, TakenPortIsNamed) {
  world_.ApplyApp();
  Server first(world_.Options("kv-1"));
  ASSERT_TRUE(first.Start(handler_, {}).ok());
  ServerOptions options = world_.Options("kv-2");
  options.listen = first.endpoint();
  RecordingHandler other;
  const absl::Status status = Server(options).Start(other, {});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(first.endpoint()));
}

TEST_F(ServerTest, WrongNameIsRefusedWithWhatIsAllowed) {
  const absl::Status status = Server(world_.Options("no/slash")).Start(handler_, {});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("ServerOptions.name: found \"no/slash\""));
}

TEST_F(ServerTest, RunTellsWhyTheServerDidNotStart) {
  EXPECT_TRUE(absl::IsInvalidArgument(Server(world_.Options("no/slash")).Run(handler_, {})));
}

// ZooKeeper is silent, so it has not expired the session: the server stops by itself.
TEST_F(ServerTest, F5_StopsAdmittingBeforeItsSessionCanExpire) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));

  const TimePoint silent_from = MonotonicNow();
  world_.zookeeper().Pause();
  TimePoint last_admitted = silent_from;
  ASSERT_TRUE(Eventually([&] {
    const TimePoint asked = MonotonicNow();
    const Admission admission = server.Admit(kShard);
    if (admission.ok()) last_admitted = asked;
    return !admission.ok();
  }));
  EXPECT_THAT(server.Admit(kShard).refusal(), StrEq("lease-lapsed"));
  EXPECT_LT(last_admitted, silent_from + ServerWorld::kSessionTimeout);

  world_.zookeeper().Resume();
  EXPECT_TRUE(Eventually([&] { return Admits(server); }));
}

TEST_F(ServerTest, ExpiredServerGoesOnWithWhatIsStillAssignedAsANewLife) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));

  world_.link().Set(TcpProxy::Mode::kCut);
  ASSERT_TRUE(Eventually(
      [&] { return absl::IsNotFound(world_.Read(world_.LivePath("kv-1", 1)).status()); }));
  EXPECT_FALSE(Admits(server));
  world_.link().Set(TcpProxy::Mode::kForward);
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  EXPECT_TRUE(world_.Read(world_.LivePath("kv-1", 2)).ok());
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5"));  // no reload
}

// While it was away its shard went to another server.
TEST_F(ServerTest, F5_ExpiredServerNeverAdmitsWhatIsAssignedHereNoMore) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));

  world_.link().Set(TcpProxy::Mode::kCut);
  ASSERT_TRUE(Eventually(
      [&] { return absl::IsNotFound(world_.Read(world_.LivePath("kv-1", 1)).status()); }));
  world_.Assign("kv-1", {});
  std::atomic<bool> stop{false};
  auto admitted = std::async(std::launch::async, [&] {
    int count = 0;
    while (!stop) count += Admits(server) ? 1 : 0;
    return count;
  });
  world_.link().Set(TcpProxy::Mode::kForward);
  EXPECT_TRUE(Eventually([&] { return handler_.calls().back() == "drop s"; }));
  Commander commander(server.endpoint(), "kv-1", 2);
  EXPECT_TRUE(Eventually([&] {
    const auto load = commander.Collect();
    return load.ok() && load->lease_remaining_ms() > 0;
  }));
  stop = true;
  EXPECT_EQ(admitted.get(), 0);
}

TEST_F(ServerTest, F16_NoGoodByeAndNoEndOfTheSessionWhileARequestRunsUnderTheLease) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  ServerOptions options = world_.Options("kv-1");
  options.drain_timeout = std::chrono::milliseconds(50);
  Server server(options);
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  const TimePoint asked = MonotonicNow();
  const auto load = Commander(server.endpoint(), "kv-1", 1).Collect();
  ASSERT_TRUE(load.ok()) << load.status();
  const TimePoint lapse = asked + Milliseconds(static_cast<int64_t>(load->lease_remaining_ms()));
  {
    const Admission request = server.Admit(kShard);
    ASSERT_TRUE(request.ok());
    server.Shutdown();
    EXPECT_GE(MonotonicNow(), lapse);
  }
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5"));
  v1::ServerRecord record;
  ASSERT_TRUE(Open(world_.Read(world_.ServerPath("kv-1")).value(), &record).ok());
  EXPECT_FALSE(record.departed());
}

TEST_F(ServerTest, CommandsThatMakeNoSenseAreRefusedWithThePathOfTheField) {
  world_.ApplyApp();
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  Commander commander(server.endpoint(), "kv-1", 1);
  const absl::Status no_epoch = commander.Add("s", 0).status();
  EXPECT_TRUE(absl::IsInvalidArgument(no_epoch));
  EXPECT_THAT(std::string(no_epoch.message()), HasSubstr("shards[0].epoch: found 0"));
  const absl::Status no_shard = commander.Drop("", 5).status();
  EXPECT_THAT(std::string(no_shard.message()), HasSubstr("shards[0].shard: found \"\""));
  EXPECT_TRUE(handler_.calls().empty());
}

TEST_F(ServerTest, ShutdownDropsShardsAndSaysGoodBye) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  server.Shutdown();

  EXPECT_THAT(server.Admit(kShard).refusal(), StrEq("stopping"));
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5", "drop s"));
  EXPECT_TRUE(absl::IsNotFound(world_.Read(world_.LivePath("kv-1", 1)).status()));
  v1::ServerRecord record;
  ASSERT_TRUE(Open(world_.Read(world_.ServerPath("kv-1")).value(), &record).ok());
  EXPECT_TRUE(record.departed());
}

TEST_F(ServerTest, ShutdownEndsAStartThatWaits) {
  std::promise<void> begun;
  ServerOptions options = world_.Options("kv-1");  // its app is never applied
  options.builder = [&](grpc::ServerBuilder&) { begun.set_value(); };
  Server server(options);
  auto started = std::async(std::launch::async, [&] { return server.Start(handler_, {}); });
  begun.get_future().wait();
  server.Shutdown();
  EXPECT_TRUE(absl::IsCancelled(started.get()));
}

// ---- one life

TEST_F(ServerTest, SecondStartIsRefused) {
  world_.ApplyApp();
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  const absl::Status again = server.Start(handler_, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("starts once"));
  EXPECT_TRUE(Commander(server.endpoint(), "kv-1", 1).Collect().ok());  // the first one goes on
}

TEST_F(ServerTest, StartAfterShutdownIsRefused) {
  world_.ApplyApp();
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  server.Shutdown();
  const absl::Status again = server.Start(handler_, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("after Shutdown"));
  Server never_started(world_.Options("kv-2"));
  never_started.Shutdown();
  EXPECT_TRUE(absl::IsFailedPrecondition(never_started.Start(handler_, {})));
}

TEST_F(ServerTest, StartThatFoundItsPortTakenMayBeTriedAgain) {
  world_.ApplyApp();
  auto first = std::make_unique<Server>(world_.Options("kv-1"));
  ASSERT_TRUE(first->Start(handler_, {}).ok());
  ServerOptions options = world_.Options("kv-2");
  options.listen = first->endpoint();
  Server second(options);
  EXPECT_TRUE(absl::IsUnavailable(second.Start(handler_, {})));
  first.reset();
  EXPECT_TRUE(second.Start(handler_, {}).ok());
}

TEST_F(ServerTest, TwoServersOfOneProcessHoldTheirOwnShards) {
  world_.ApplyApp();
  world_.Assign("kv-1", {Granted("s", 5)});
  world_.Assign("kv-2", {Granted("other", 6)});
  RecordingHandler second_handler;
  Server first(world_.Options("kv-1"));
  Server second(world_.Options("kv-2"));
  ASSERT_TRUE(first.Start(handler_, {}).ok());
  ASSERT_TRUE(second.Start(second_handler, {}).ok());
  EXPECT_TRUE(Eventually([&] { return Admits(first) && second.Admit(ShardId("other")).ok(); }));
  EXPECT_FALSE(Admits(second));
  first.Shutdown();
  EXPECT_TRUE(second.Admit(ShardId("other")).ok());
  EXPECT_THAT(handler_.calls(), ElementsAre("add s@5", "drop s"));
  EXPECT_THAT(second_handler.calls(), ElementsAre("add other@6"));
}

// ---- what the application adds

// It answers every method that no service has.
class EchoOfMethods final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    class Ended final : public grpc::ServerGenericBidiReactor {
     public:
      explicit Ended(const std::string& method) {
        Finish({grpc::StatusCode::ABORTED, "asked for " + method});
      }
      void OnDone() override { delete this; }
    };
    return new Ended(context->method());
  }
};

TEST_F(ServerTest, BuilderOfTheApplicationAddsServicesAndPorts) {
  world_.ApplyApp();
  EchoOfMethods generic;
  int port = 0;
  ServerOptions options = world_.Options("kv-1");
  options.builder = [&](grpc::ServerBuilder& builder) {
    builder.RegisterCallbackGenericService(&generic);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  };
  Server server(options);
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  for (const std::string& at : {server.endpoint(), "127.0.0.1:" + std::to_string(port)}) {
    grpc::GenericStub stub(grpc::CreateChannel(at, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    const grpc::Slice bytes("any");
    const grpc::ByteBuffer request(&bytes, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> answer;
    stub.UnaryCall(&context, "/any/Method", {}, &request, &response,
                   [&](const grpc::Status& status) { answer.set_value(status); });
    EXPECT_EQ(answer.get_future().get().error_message(), "asked for /any/Method");
  }
}

// ---- exceptions of the application

class ThrowingHandler final : public ShardHandler {
 public:
  absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override {
    if (grant.shard.value() == "bad") throw std::runtime_error("no such disk");
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { throw 7; }
  std::map<std::string, double> CollectLoad(const ShardId&) override { throw 8; }
  std::map<std::string, double> CollectCapacity() override { throw 9; }
  void Stopping() override { throw 10; }
};

TEST_F(ServerTest, ExceptionsOfTheHandlerAreErrorsOfTheCommand) {
  world_.ApplyApp();
  ThrowingHandler handler;
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler, {}).ok());
  Commander commander(server.endpoint(), "kv-1", 1);
  const auto bad = commander.Add("bad", 5);
  ASSERT_TRUE(bad.ok()) << bad.status();
  EXPECT_EQ(bad->state(), v1::FAILED);
  EXPECT_THAT(bad->error(), HasSubstr("AddShard threw an exception: no such disk"));
  EXPECT_EQ(commander.Add("s", 5)->state(), v1::DONE);
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  const auto load = commander.Collect();
  ASSERT_TRUE(load.ok()) << load.status();
  ASSERT_EQ(load->shards_size(), 1);
  EXPECT_EQ(load->shards(0).load_size(), 0);
  EXPECT_EQ(commander.Drop("s", 5)->state(), v1::DONE);  // as after every error of DropShard
  server.Shutdown();
}

TEST_F(ServerTest, WorkThatNeverWaitsIsNotToldThatItHas) {
  world_.ApplyApp();
  Server server(world_.Options("kv-1"));
  ASSERT_TRUE(server.Start(handler_, {}).ok());
  Commander commander(server.endpoint(), "kv-1", 1);
  EXPECT_EQ(commander.Add("s", 5)->state(), v1::DONE);
  ASSERT_TRUE(Eventually([&] { return Admits(server); }));
  EXPECT_EQ(commander.PrepareDrop("s", 5, {"kv-2", "127.0.0.1:1", 6})->state(), v1::DONE);
  const Admission admission = server.Admit(kShard);
  EXPECT_THAT(admission.refusal(), StrEq("moving"));
  EXPECT_EQ(admission.status().error_message(),
            "refused (moving): the shard is on its way to another server: try again");
}

}  // namespace
}  // namespace shardmanager
