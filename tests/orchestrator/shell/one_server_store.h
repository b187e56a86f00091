// What the store knows of an app with one server, for tests of changes that wait until it is gone.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordination/memory/memory_ensemble.h"
#include "orchestrator/shell/batch_writer.h"

namespace shardmanager::orchestrator {

class OneServerStore : public testing::Test {
 protected:
  OneServerStore() : store_(ensemble_.NewSession({})), session_(ensemble_.last_session()) {
    spdlog::set_level(spdlog::level::off);
    others_ = ensemble_.NewSession({});
    std::vector<WriteOp> ops;
    for (const std::string& path :
         {paths_.root(), paths_.leader(), paths_.leader_epoch(), paths_.apps(), paths_.app(app_)}) {
      ops.push_back(CreateNode{path, ""});
    }
    for (const std::string& folder :
         {paths_.servers(app_), paths_.live(app_), paths_.assignments(app_)}) {
      ops.push_back(CreateNode{folder, ""});
      for (uint32_t b = 0; b < kBuckets; ++b) {
        ops.push_back(CreateNode{Paths::bucket(folder, b), ""});
      }
    }
    ops.push_back(CreateNode{Registration(), ""});
    Write(std::move(ops));
    ensemble_.RunUntilIdle();
  }

  std::string Registration() const { return paths_.server(app_, server_, kBuckets); }
  std::string Live(uint64_t life) const {
    return paths_.live(app_, server_, Incarnation(life), kBuckets);
  }
  WriterOptions Options() {
    return {.store = store_.get(),
            .paths = paths_,
            .app = app_,
            .buckets = kBuckets,
            .leader_epoch = LeaderEpoch(),
            .post = [](auto task) { task(); }};
  }
  void Write(std::vector<WriteOp> ops) {
    others_->Multi(std::move(ops), [](const WriteResult& result) {
      EXPECT_TRUE(result.status.ok()) << result.status;
    });
  }
  // Lets all requests through. `what` happens when so many of them are; -1: never.
  void LetThrough(int after, const std::function<void()>& what) {
    for (int through = 0; ensemble_.CanApply(session_); ++through) {
      if (through == after) what();
      if (ensemble_.CanApply(session_)) ensemble_.Apply(session_);
      if (!ensemble_.Connected(session_)) ensemble_.Reconnect(session_);
      while (ensemble_.CanDeliver(session_)) ensemble_.Deliver(session_);
    }
  }
  void ComeBack() {
    const SessionNumber others = ensemble_.last_session();
    Write({SetNode{Registration(), ""}, CreateNode{Live(1), ""}});
    while (ensemble_.CanApply(others)) ensemble_.Apply(others);
  }
  // The session is over before the next write is answered.
  void LoseAnswerAndSession() {
    ensemble_.LoseNextAnswer(session_);
    ensemble_.Apply(session_);
    ensemble_.Expire(session_);
  }

  static constexpr uint32_t kBuckets = 2;
  const Paths paths_{"cell"};
  const AppName app_{"kv"};
  const ServerName server_{"kv-1"};
  MemoryEnsemble ensemble_;
  std::unique_ptr<CoordinationStore> store_;
  const SessionNumber session_;
  std::unique_ptr<CoordinationStore> others_;
};

}  // namespace shardmanager::orchestrator
