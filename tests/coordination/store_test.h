// The fixture of tests that run on both stores.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "coordination/store.h"
#include "tests/coordination/memory_harness.h"
#include "tests/coordination/store_harness.h"
#include "tests/coordination/zookeeper_harness.h"

namespace shardmanager {

inline const char* NameOf(SessionState state) {
  constexpr const char* kNames[] = {"connecting", "connected", "suspended", "expired", "closed"};
  return kNames[static_cast<int>(state)];
}

// A test over both stores: TYPED_TEST_SUITE(YourTest, Harnesses, HarnessNames), with
// YourTest an alias of or a class derived from this.
template <typename Harness>
class StoreTest : public testing::Test {
 protected:
  using Session = std::unique_ptr<CoordinationStore>;

  StoreTest() : log([this] { harness.Notify(); }) {}

  // A connected session. Its states go to the log as "<name>:connected" and so on,
  // if it has a name.
  Session Connect(std::chrono::milliseconds timeout = kLongTimeout, std::string name = "") {
    Session session = Start(timeout, std::move(name));
    EXPECT_TRUE(harness.Await([&] { return session->state() == SessionState::kConnected; }));
    return session;
  }

  Session Start(std::chrono::milliseconds timeout, std::string name) {
    return harness.NewSession({.timeout = timeout, .on_state = [this, name](SessionState state) {
                                 if (!name.empty()) log.Add(name + ":" + NameOf(state));
                                 harness.Notify();
                               }});
  }

  bool AwaitState(const Session& session, SessionState state) {
    return harness.Await([&] { return session->state() == state; });
  }
  bool AwaitLog(const std::string& event, size_t times = 1) {
    return harness.Await([&] { return log.Count(event) >= times; });
  }

  template <typename T>
  T Wait(Answer<T> answer) {
    EXPECT_TRUE(harness.Await([&] { return answer.has_value(); }));
    return *answer.value();
  }

  WriteResult Write(const Session& session, std::vector<WriteOp> ops) {
    Answer<WriteResult> answer(harness);
    session->Multi(std::move(ops), answer.callback());
    return Wait(answer);
  }
  absl::StatusOr<Node> Get(const Session& session, const std::string& path,
                           CoordinationStore::Watch watch = nullptr) {
    Answer<absl::StatusOr<Node>> answer(harness);
    session->Get(path, answer.callback(), std::move(watch));
    return Wait(answer);
  }
  absl::StatusOr<std::vector<std::string>> List(const Session& session, const std::string& path,
                                                CoordinationStore::Watch watch = nullptr) {
    Answer<absl::StatusOr<std::vector<std::string>>> answer(harness);
    session->GetChildren(path, answer.callback(), std::move(watch));
    return Wait(answer);
  }
  absl::Status Sync(const Session& session) {
    Answer<absl::Status> answer(harness);
    session->Sync(answer.callback());
    return Wait(answer);
  }
  CoordinationStore::Watch LogWatch(const std::string& event) {
    return [this, event] { log.Add(event); };
  }
  // Until the node is gone, as another session sees it.
  bool AwaitGone(const Session& observer, const std::string& path) {
    while (true) {
      Answer<bool> changed(harness);
      if (!Get(observer, path, [changed]() mutable { changed.Set(true); }).ok()) return true;
      if (!harness.Await([&] { return changed.has_value(); })) return false;
    }
  }

  Harness harness;
  EventLog log;
};

using Harnesses = testing::Types<MemoryHarness, ZookeeperHarness>;
struct HarnessNames {
  template <typename T>
  static std::string GetName(int) {
    return std::is_same_v<T, MemoryHarness> ? "Memory" : "ZooKeeper";
  }
};

}  // namespace shardmanager
