// A controller in a cell whose store is in memory, on an executor that runs when the test says so.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/memory/memory_ensemble.h"
#include "coordination/records.h"
#include "orchestrator/control/controller.h"
#include "tests/coordination/passing_store.h"
#include "tests/orchestrator/shell/silent_ports.h"
#include "tests/runtime/hand_executor.h"

namespace shardmanager::orchestrator {

inline constexpr uint32_t kBuckets = 4;
inline const Paths kPaths("cell");
inline const AppName kApp("kv");
inline const ServerName kServer("kv-1");

struct Hooks {
  std::function<void()> before_close;  // of a session, once
  std::function<void()> refused;       // a write was
  bool listings_fail = false;          // of the servers of an app
};

// Passes everything on, and tells the test.
class HookedStore final : public PassingStore {
 public:
  HookedStore(std::unique_ptr<CoordinationStore> store, Hooks& hooks)
      : PassingStore(std::move(store)), hooks_(hooks) {}

  void Multi(std::vector<WriteOp> ops, WriteCallback done) override {
    PassingStore::Multi(std::move(ops), [this, done](const WriteResult& result) {
      if (!result.status.ok() && hooks_.refused) hooks_.refused();
      done(result);
    });
  }
  void GetChildren(const std::string& path, ChildrenCallback done, Watch watch) override {
    if (hooks_.listings_fail && path.find("/servers/") != std::string::npos) {
      return done(absl::UnavailableError("the connection broke"));
    }
    PassingStore::GetChildren(path, std::move(done), std::move(watch));
  }
  void Close() override {
    if (hooks_.before_close) std::exchange(hooks_.before_close, nullptr)();
    PassingStore::Close();
  }

 private:
  Hooks& hooks_;
};

class HookedStores final : public CoordinationStoreFactory {
 public:
  explicit HookedStores(MemoryEnsemble& ensemble) : ensemble_(ensemble) {}
  Hooks hooks;
  std::vector<int64_t> asked_ms;          // the time-outs of all sessions, in order
  std::chrono::milliseconds shortest{0};  // session that is granted from now on

  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override {
    asked_ms.push_back(options.timeout.count());
    options.timeout = std::max(options.timeout, shortest);
    return std::make_unique<HookedStore>(ensemble_.NewSession(std::move(options)), hooks);
  }

 private:
  MemoryEnsemble& ensemble_;
};

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() : others_(ensemble_.NewSession({})) {
    spdlog::set_level(spdlog::level::off);
    auto control = std::make_unique<HandExecutor>();
    control_ = control.get();
    Controller::Executors executors{.control = std::move(control),
                                    .solver = std::make_unique<HandExecutor>()};
    ControllerOptions options{
        .cell = Cell(), .process = "control-0", .wall_ms = [this] { return now_ms_; }};
    controller_ = std::make_unique<Controller>(std::move(options), stores_, servers_, clients_,
                                               events_, std::move(executors));
    controller_->on_leader = [this](const std::string& leader) { told_.push_back(leader); };
    controller_->Start("host:0");
    control_->Run();
    session_ = ensemble_.last_session();
    ensemble_.RunUntilIdle();  // it is connected
    control_->Run();           // and has asked for the cell's config
  }
  static v1::CellConfig Cell() {
    v1::CellConfig cell;
    cell.set_cell("cell");
    cell.set_zookeeper_tick_ms(200);
    cell.set_session_timeout_ms(4'000);
    cell.set_buckets(kBuckets);
    return cell;
  }
  v1::StoredSpec Stored() {
    v1::StoredSpec spec;
    others_->Get(kPaths.spec(kApp), [&spec](const absl::StatusOr<Node>& node) {
      ASSERT_TRUE(node.ok());
      ASSERT_TRUE(OpenSpec(node->data, kApp, &spec).ok());
    });
    ensemble_.RunUntilIdle();
    return spec;
  }
  // By another process.
  void Write(std::vector<WriteOp> ops) {
    others_->Multi(std::move(ops), [](const WriteResult& result) {
      EXPECT_TRUE(result.status.ok()) << result.status;
    });
    ensemble_.RunUntilIdle();
  }
  // The cell with an app of which a lost server still has to give up a shard.
  void MakeCell(const v1::CellConfig& cell = Cell()) {
    EnsureCell(*others_, cell, [](const auto& config) { EXPECT_TRUE(config.ok()); });
    ensemble_.RunUntilIdle();
    v1::StoredSpec spec;
    spec.mutable_spec()->set_name(kApp.value());
    spec.mutable_spec()->mutable_key_space()->add_shards()->set_id("s-0");
    spec.mutable_spec()->mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
    SpecStore(others_.get(), kPaths, kBuckets, LeaderEpoch(0))
        .Create(kApp, spec, [](const auto& version) { EXPECT_TRUE(version.ok()); });
    ensemble_.RunUntilIdle();
    v1::AssignmentRecord record;
    record.set_server(kServer.value());
    v1::AssignedReplica& replica = *record.add_replicas();
    replica.set_shard("s-0");
    replica.set_role(v1::PRIMARY);
    replica.set_epoch(1);
    replica.set_phase(v1::DROPPING);
    Write({CreateNode{kPaths.server(kApp, kServer, kBuckets), ""},
           CreateNode{kPaths.assignment(kApp, kServer, kBuckets), Seal(record)}});
  }
  void RunAll() {
    for (int i = 0; i < 100; ++i) {
      ensemble_.RunUntilIdle();
      control_->Run();
    }
  }

  // `app`: "" for all.
  absl::StatusOr<v1::GetServersResponse> GetServers(const std::string& app = "") {
    v1::GetServersRequest request;
    request.set_app(app);
    absl::StatusOr<v1::GetServersResponse> servers = absl::UnknownError("no answer");
    controller_->operations().GetServers(request,
                                         [&servers](const auto& response) { servers = response; });
    RunAll();
    return servers;
  }

  size_t CountOf(const std::string& kind) {
    uint64_t cursor = 0;
    const auto events = events_.Read(&cursor, Duration(0));
    return static_cast<size_t>(std::count_if(
        events.begin(), events.end(), [&](const auto& event) { return event.kind() == kind; }));
  }

  MemoryEnsemble ensemble_;
  HookedStores stores_{ensemble_};
  const std::unique_ptr<CoordinationStore> others_;
  NoServers servers_;
  NoClients clients_;
  EventLog events_;
  int64_t now_ms_ = 1'000;
  std::vector<std::string> told_;    // by on_leader
  SessionNumber session_ = 0;        // the controller's first
  HandExecutor* control_ = nullptr;  // the controller's
  std::unique_ptr<Controller> controller_;
};

}  // namespace shardmanager::orchestrator
