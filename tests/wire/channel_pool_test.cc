#include "wire/channel_pool.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/clock.h"
#include "wire/connection_waits.h"
#include "wire/transport.h"

namespace shardmanager::wire {
namespace {

// Nothing listens there, and nothing is sent there.
constexpr char kOne[] = "127.0.0.1:1";
constexpr char kTwo[] = "127.0.0.1:2";
constexpr char kThree[] = "127.0.0.1:3";

std::shared_ptr<grpc::Channel> Open(const std::string& endpoint) {
  return OpenWith(nullptr, endpoint, {});
}
const OpenChannel kOpen = [](const std::string& endpoint, grpc::ChannelArguments arguments) {
  return OpenWith(nullptr, endpoint, std::move(arguments));
};

TEST(ChannelPoolTest, KeepsAConnectionForEachServerUntilThereAreTooMany) {
  ChannelPool pool(2, kOpen);
  const auto one = pool.Get(kOne);
  const auto two = pool.Get(kTwo);
  EXPECT_EQ(pool.Get(kOne), one);
  EXPECT_EQ(pool.Get(kTwo), two);
  EXPECT_EQ(pool.size(), 2u);
}

TEST(ChannelPoolTest, DropsTheOneThatWasNotUsedForLongest) {
  ChannelPool pool(2, kOpen);
  const auto one = pool.Get(kOne);
  const auto two = pool.Get(kTwo);
  pool.Get(kOne);
  pool.Get(kThree);
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(pool.Get(kOne), one);
  EXPECT_NE(pool.Get(kTwo), two);
}

TEST(ChannelPoolTest, DropsServersThatNoMapNames) {
  ChannelPool pool(2, kOpen);
  const auto one = pool.Get(kOne);
  const auto two = pool.Get(kTwo);
  pool.Drop({kTwo, kThree}, MonotonicNow());
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(pool.Get(kOne), one);
  EXPECT_NE(pool.Get(kTwo), two);
}

TEST(ChannelPoolTest, KeepsConnectionsToServersThatNoMapNamesForSomeMinutes) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  grpc::AsyncGenericService any;
  builder.RegisterAsyncGenericService(&any);
  const auto queue = builder.AddCompletionQueue();
  auto server = builder.BuildAndStart();
  const std::string endpoint = "127.0.0.1:" + std::to_string(port);
  ChannelPool pool(2, kOpen);
  auto channel = pool.Get(endpoint);
  ASSERT_TRUE(channel->WaitConnected(MonotonicNow() + Seconds(20)));
  const TimePoint now = MonotonicNow();
  pool.Drop({endpoint}, now);
  EXPECT_EQ(pool.size(), 1u);
  pool.Drop({}, now + Seconds(299));
  EXPECT_EQ(pool.Get(endpoint), channel) << "used: a map names it again";
  pool.Drop({}, now + Seconds(1'000));
  EXPECT_EQ(pool.size(), 1u);
  pool.Drop({endpoint}, now + Seconds(1'000));
  pool.Drop({}, now + Seconds(1'300));
  EXPECT_EQ(pool.size(), 0u) << "nobody used it for so long";

  channel = pool.Get(endpoint);
  ASSERT_TRUE(channel->WaitConnected(MonotonicNow() + Seconds(20)));
  pool.Drop({endpoint}, now + Seconds(2'000));
  server->Shutdown();
  queue->Shutdown();
  while (channel->HasConnection()) std::this_thread::yield();
  pool.Drop({}, now + Seconds(2'001));
  EXPECT_EQ(pool.size(), 0u) << "its connection is gone";
}

TEST(ChannelPoolTest, WhatIsDroppedIsHandedOverOnceNobodyUsesIt) {
  std::vector<std::unique_ptr<ServerChannel>> disposed;
  ChannelPool pool(1, kOpen, [&](auto channel) { disposed.push_back(std::move(channel)); });
  auto one = pool.Get(kOne);
  ServerChannel* const was_one = one.get();
  auto two = pool.Get(kTwo);
  EXPECT_TRUE(disposed.empty()) << "it is used still";
  one.reset();
  ASSERT_EQ(disposed.size(), 1u);
  EXPECT_EQ(disposed[0].get(), was_one);
  two.reset();
  EXPECT_EQ(disposed.size(), 1u) << "the pool has it";
  pool.Drop({kTwo}, MonotonicNow());
  EXPECT_EQ(disposed.size(), 2u);
}

// ---- ConnectionWaits ----

bool Await(ConnectionWaits& waits, std::shared_ptr<ServerChannel> channel, TimePoint deadline) {
  std::promise<bool> connected;
  waits.Await(std::move(channel), deadline, [&](bool yes) { connected.set_value(yes); });
  return connected.get_future().get();
}

TEST(ConnectionWaitsTest, TellsOnceAServerIsConnectedTo) {
  grpc::ServerBuilder builder;
  int port = 0;
  Transport::Insecure()->ListenAt("127.0.0.1:0", {}, builder, &port);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  ConnectionWaits waits;
  const auto channel = std::make_shared<ServerChannel>(Open("127.0.0.1:" + std::to_string(port)));
  EXPECT_FALSE(channel->IsConnected());
  EXPECT_TRUE(Await(waits, channel, MonotonicNow() + Seconds(20)));
  EXPECT_TRUE(channel->IsConnected());
  EXPECT_TRUE(Await(waits, channel, TimePoint{})) << "known at once";
  server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  for (bool ok = false; queue->Next(&tag, &ok);) {
  }
}

TEST(ConnectionWaitsTest, TellsThatItCannotBeConnectedToOrNotInTime) {
  ConnectionWaits waits;
  EXPECT_FALSE(
      Await(waits, std::make_shared<ServerChannel>(Open(kOne)), MonotonicNow() + Seconds(20)));
  EXPECT_FALSE(Await(waits, std::make_shared<ServerChannel>(Open(kTwo)), TimePoint{}));
}

TEST(ConnectionWaitsTest, WhatIsAwaitedStillIsToldBeforeItGoes) {
  int told = 0;
  {
    ConnectionWaits waits;
    for (const char* endpoint : {kOne, kTwo, kThree}) {
      waits.Await(std::make_shared<ServerChannel>(Open(endpoint)),
                  MonotonicNow() + Milliseconds(100), [&](bool) { ++told; });
    }
  }
  EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace shardmanager::wire
