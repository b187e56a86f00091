// What a session does about faults that only a real ZooKeeper has.
#include <dlfcn.h>
#include <endian.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "coordination/zookeeper/private_zookeeper.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "tests/coordination/tcp_proxy.h"
#include "tests/coordination/zookeeper_harness.h"

namespace {
std::atomic<int> names_resolved{0};
}  // namespace

// In front of the C library's, which it calls.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  ++names_resolved;
  names_resolved.notify_all();
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, found);
}

namespace shardmanager {
namespace {

// Of ZooKeeper's protocol (zookeeper.jute): a request is its length, a number and its type, each a
// big-endian int32, and then what the type wants. A connection begins with a request to connect,
// which has no type.
constexpr int32_t kGetData = 4;
constexpr int32_t kSync = 9;

int32_t Int32At(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  memcpy(&value, bytes.data() + at, sizeof value);
  return static_cast<int32_t>(be32toh(value));
}

std::vector<int32_t> TypesOfRequests(const std::string& sent) {
  std::vector<int32_t> types;
  const auto end = [&](size_t at) { return at + sizeof(int32_t) + Int32At(sent, at); };
  for (size_t at = end(0); at + 12 <= sent.size(); at = end(at)) {
    types.push_back(Int32At(sent, at + 8));
  }
  return types;
}

class ZookeeperSessionTest : public testing::Test {
 protected:
  std::unique_ptr<CoordinationStore> Connect(SessionOptions options) {
    options.on_state = [this](SessionState) { harness.Notify(); };
    auto session = harness.NewSession(std::move(options));
    EXPECT_TRUE(AwaitState(*session, SessionState::kConnected));
    return session;
  }
  bool AwaitState(CoordinationStore& session, SessionState state) {
    return harness.Await([&] { return session.state() == state; });
  }
  WriteResult Write(CoordinationStore& session, std::vector<WriteOp> ops) {
    Answer<WriteResult> answer(harness);
    session.Multi(std::move(ops), answer.callback());
    EXPECT_TRUE(harness.Await([&] { return answer.has_value(); }));
    return *answer.value();
  }
  absl::StatusOr<Node> Get(CoordinationStore& session, const std::string& path) {
    Answer<absl::StatusOr<Node>> answer(harness);
    session.Get(path, answer.callback());
    EXPECT_TRUE(harness.Await([&] { return answer.has_value(); }));
    return *answer.value();
  }

  ZookeeperHarness harness;
};

// A ZooKeeper that is just starting does this now and then; its C client alone would
// wait for two thirds of the time-out, 13 seconds here.
TEST_F(ZookeeperSessionTest, ServerThatNeverAdmitsUsIsGivenUpSoonAndTheSessionKept) {
  auto session = Connect({.timeout = kLongTimeout});
  const int64_t id = session->session_id();
  ASSERT_TRUE(Write(*session, {CreateNode{"/e", "", /*ephemeral=*/true}}).status.ok());
  TcpProxy& link = harness.proxy(*session);
  link.Set(TcpProxy::Mode::kCut);
  ASSERT_TRUE(AwaitState(*session, SessionState::kSuspended));

  link.Set(TcpProxy::Mode::kBlackhole);
  link.AwaitAccepted(1);
  const auto start = std::chrono::steady_clock::now();
  link.Set(TcpProxy::Mode::kForward);
  ASSERT_TRUE(AwaitState(*session, SessionState::kConnected));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  EXPECT_EQ(session->session_id(), id);
  EXPECT_EQ(Get(*session, "/e")->stat.ephemeral_session, id);
  EXPECT_TRUE(Write(*session, {SetNode{"/e", "x"}}).status.ok());
}

TEST_F(ZookeeperSessionTest, WatchesWorkOverTheNewConnectionOfAKeptSession) {
  auto session = Connect({.timeout = kLongTimeout});
  auto other = Connect({.timeout = kLongTimeout});
  TcpProxy& link = harness.proxy(*session);
  link.Set(TcpProxy::Mode::kCut);
  ASSERT_TRUE(AwaitState(*session, SessionState::kSuspended));
  link.Set(TcpProxy::Mode::kBlackhole);
  link.AwaitAccepted(1);
  link.Set(TcpProxy::Mode::kForward);
  ASSERT_TRUE(AwaitState(*session, SessionState::kConnected));

  Answer<bool> created(harness);
  Answer<absl::StatusOr<Node>> read(harness);
  session->Get("/a", read.callback(), [created]() mutable { created.Set(true); });
  ASSERT_TRUE(harness.Await([&] { return read.has_value(); }));
  ASSERT_TRUE(Write(*other, {CreateNode{"/a", ""}}).status.ok());
  EXPECT_TRUE(harness.Await([&] { return created.has_value(); }));
}

// The C client breaks the connection then, and answers all that was under way with an error that
// names no lost connection. Whoever takes it for an answer to its request waits for ever: a standby
// that asked who leads never stood again (chaos, seed 5).
TEST_F(ZookeeperSessionTest, AnswersOutOfOrderAreALostConnection) {
  auto session = Connect({.timeout = kLongTimeout});
  const int64_t id = session->session_id();
  TcpProxy& link = harness.proxy(*session);
  link.Set(TcpProxy::Mode::kSwallowAnswers);
  Answer<absl::StatusOr<Node>> first(harness);
  Answer<WriteResult> write(harness);
  session->Get("/a", first.callback());
  link.AwaitSwallowed();
  link.Set(TcpProxy::Mode::kForward);
  session->Multi({CreateNode{"/b", ""}}, write.callback());
  ASSERT_TRUE(harness.Await([&] { return first.has_value() && write.has_value(); }));
  EXPECT_TRUE(absl::IsUnavailable(first.value()->status())) << first.value()->status();
  EXPECT_TRUE(absl::IsUnavailable(write.value()->status)) << write.value()->status;
  ASSERT_TRUE(AwaitState(*session, SessionState::kConnected));
  EXPECT_EQ(session->session_id(), id);
  EXPECT_TRUE(absl::IsNotFound(Get(*session, "/a").status()));
}

// The handle is new, and does not tell the server what the session has seen: one that lags behind
// could show it an older state.
TEST_F(ZookeeperSessionTest, WhatIsReadOverANewHandleComesBehindASync) {
  auto session = Connect({.timeout = kLongTimeout});
  TcpProxy& link = harness.proxy(*session);
  link.Set(TcpProxy::Mode::kCut);
  ASSERT_TRUE(AwaitState(*session, SessionState::kSuspended));
  Answer<absl::StatusOr<Node>> read(harness);
  session->Get("/a", read.callback());
  link.Set(TcpProxy::Mode::kBlackhole);
  link.AwaitAccepted(1);
  link.Set(TcpProxy::Mode::kForward);
  ASSERT_TRUE(harness.Await([&] { return read.has_value(); }));
  std::vector<int32_t> types = TypesOfRequests(link.SentOverTheLast());
  std::erase_if(types, [](int32_t type) { return type != kSync && type != kGetData; });
  EXPECT_THAT(types, testing::ElementsAre(kSync, kGetData));
}

// Of a thousand apps a leader has 64,000. The C client would set them all again in one request when
// it reconnects, which ZooKeeper takes for an attack above 1 MB: it would never let the session in.
TEST_F(ZookeeperSessionTest, ASessionOfManyWatchesComesBack) {
  constexpr int kWatches = 30'000;
  auto session = Connect({.timeout = kLongTimeout});
  const int64_t id = session->session_id();
  const auto path = [](int i) {
    return "/a-folder-as-long-as-those-of-buckets-of-live-nodes-are-" + std::to_string(i);
  };
  for (int first = 0; first < kWatches / 2; first += 1'000) {
    std::vector<WriteOp> ops;
    for (int i = first; i < first + 1'000; ++i) ops.push_back(CreateNode{path(i), ""});
    ASSERT_TRUE(Write(*session, std::move(ops)).status.ok());
  }
  TcpProxy& link = harness.proxy(*session);
  for (int breaks = 0; breaks < 2; ++breaks) {
    std::atomic<int> read{0};
    std::atomic<int> fired{0};
    const auto on_change = [&] { ++fired, harness.Notify(); };
    const auto done = [&](const auto&) { ++read, harness.Notify(); };
    for (int i = 0; i < kWatches; ++i) {
      if (i < kWatches / 2) {
        session->GetChildren(path(i), done, on_change);
      } else {
        session->Get(path(i), done, on_change);
      }
    }
    ASSERT_TRUE(harness.Await([&] { return read == kWatches; }));
    link.Set(TcpProxy::Mode::kCut);
    ASSERT_TRUE(AwaitState(*session, SessionState::kSuspended));
    link.Set(TcpProxy::Mode::kForward);
    ASSERT_TRUE(AwaitState(*session, SessionState::kConnected));
    EXPECT_TRUE(harness.Await([&] { return fired == kWatches; }));
    EXPECT_TRUE(Get(*session, path(0)).ok());
  }
  EXPECT_EQ(session->session_id(), id);
}

TEST_F(ZookeeperSessionTest, NamesAreResolvedForAConnectionAndNotWhileThereIsOne) {
  auto session = Connect({.timeout = kLongTimeout});
  const int connected = names_resolved;
  EXPECT_GT(connected, 0);
  ASSERT_TRUE(Write(*session, {CreateNode{"/a", ""}}).status.ok());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Get(*session, "/a").ok());
  EXPECT_EQ(names_resolved, connected);
  TcpProxy& link = harness.proxy(*session);
  link.Set(TcpProxy::Mode::kCut);
  ASSERT_TRUE(AwaitState(*session, SessionState::kSuspended));
  link.Set(TcpProxy::Mode::kForward);
  ASSERT_TRUE(AwaitState(*session, SessionState::kConnected));
  EXPECT_GT(names_resolved, connected);
}

TEST_F(ZookeeperSessionTest, NameThatDoesNotResolveIsTriedAgainAndClosingIsHarmless) {
  const int enough = names_resolved + 2;
  ZookeeperStoreFactory factory("no-such-host.invalid:2181");
  auto session = factory.NewSession({});
  Answer<absl::Status> sync(harness);
  session->Sync(sync.callback());
  for (int seen = 0; (seen = names_resolved) < enough;) names_resolved.wait(seen);
  EXPECT_EQ(session->state(), SessionState::kConnecting);
  session->Close();
  EXPECT_FALSE(sync.has_value());
}

}  // namespace
}  // namespace shardmanager
