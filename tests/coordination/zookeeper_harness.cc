#include "tests/coordination/zookeeper_harness.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace shardmanager {
namespace {

constexpr std::chrono::seconds kPatience{20};

// The folder of the shared server; removed when the program ends.
struct ServerFolder {
  ServerFolder() {
    std::string pattern = testing::TempDir() + "/zookeeper.XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~ServerFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  std::string path;
};

}  // namespace

PrivateZookeeper& ZookeeperHarness::Server() {
  static ServerFolder folder;
  static std::unique_ptr<PrivateZookeeper> server = [] {
    auto started =
        PrivateZookeeper::Start({.data_dir = folder.path, .tick_ms = 200, .force_sync = false});
    if (!started.ok()) {
      ADD_FAILURE() << started.status();
      abort();
    }
    return *std::move(started);
  }();
  return *server;
}

ZookeeperHarness::ZookeeperHarness() {
  static int count = 0;
  folder_ = absl::StrCat("/harness-", ++count);
  auto session = ZookeeperStoreFactory(Server().connect_string()).NewSession({});
  Answer<WriteResult> made(*this);
  session->Multi({CreateNode{folder_, ""}}, made.callback());
  EXPECT_TRUE(Await([&] { return made.has_value(); }));
}

ZookeeperHarness::~ZookeeperHarness() = default;

std::unique_ptr<CoordinationStore> ZookeeperHarness::NewSession(SessionOptions options) {
  auto proxy = std::make_unique<TcpProxy>(Server().port());
  ZookeeperStoreFactory factory(absl::StrCat("127.0.0.1:", proxy->port(), folder_));
  auto session = factory.NewSession(std::move(options));
  proxies_[session.get()] = std::move(proxy);
  return session;
}

bool ZookeeperHarness::Await(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    uint64_t seen;
    {
      std::lock_guard lock(mutex_);
      seen = notifications_;
    }
    if (done()) return true;
    std::unique_lock lock(mutex_);
    if (!notified_.wait_until(lock, deadline, [&] { return notifications_ != seen; })) {
      return false;
    }
  }
}

void ZookeeperHarness::Notify() {
  std::lock_guard lock(mutex_);
  ++notifications_;
  notified_.notify_all();
}

void ZookeeperHarness::Disconnect(CoordinationStore& session) {
  proxies_.at(&session)->Set(TcpProxy::Mode::kCut);
}

void ZookeeperHarness::Reconnect(CoordinationStore& session) {
  proxies_.at(&session)->Set(TcpProxy::Mode::kForward);
}

void ZookeeperHarness::Expire(CoordinationStore& session) {
  // A node that goes with the session tells when it has gone.
  const std::string marker = absl::StrCat("/expiry-marker-", session.session_id());
  Answer<WriteResult> made(*this);
  session.Multi({CreateNode{marker, "", /*ephemeral=*/true}}, made.callback());
  ASSERT_TRUE(Await([&] { return made.has_value(); }));
  ASSERT_TRUE(made.value()->status.ok()) << made.value()->status;

  auto observer = NewSession({.timeout = kLongTimeout});
  Answer<absl::StatusOr<Node>> seen(*this);
  Answer<bool> gone(*this);
  observer->Get(marker, seen.callback(), [gone]() mutable { gone.Set(true); });
  ASSERT_TRUE(Await([&] { return seen.has_value(); }));
  Disconnect(session);
  ASSERT_TRUE(Await([&] { return gone.has_value(); }));
  Reconnect(session);
}

void ZookeeperHarness::SwallowAnswers(CoordinationStore& session) {
  proxies_.at(&session)->Set(TcpProxy::Mode::kSwallowAnswers);
}

void ZookeeperHarness::StopStore() { Server().Kill(); }

void ZookeeperHarness::StartStore() {
  const absl::Status started = Server().Restart();
  ASSERT_TRUE(started.ok()) << started;
}

}  // namespace shardmanager
