// A record that cannot be read is released only while its server is gone.
#include "orchestrator/shell/release.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordination/memory/memory_ensemble.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kBuckets = 2;
const Paths kPaths("cell");
const AppName kApp("kv");
const ServerName kServer("kv-1");

class ReleaseTest : public testing::Test {
 protected:
  ReleaseTest() : store_(ensemble_.NewSession({})), session_(ensemble_.last_session()) {
    spdlog::set_level(spdlog::level::off);
    others_ = ensemble_.NewSession({});
    std::vector<WriteOp> ops;
    for (const std::string& path :
         {kPaths.root(), kPaths.leader(), kPaths.leader_epoch(), kPaths.apps(), kPaths.app(kApp)}) {
      ops.push_back(CreateNode{path, ""});
    }
    for (const std::string& folder :
         {kPaths.servers(kApp), kPaths.live(kApp), kPaths.assignments(kApp)}) {
      ops.push_back(CreateNode{folder, ""});
      for (uint32_t b = 0; b < kBuckets; ++b) {
        ops.push_back(CreateNode{Paths::bucket(folder, b), ""});
      }
    }
    ops.push_back(CreateNode{Registration(), ""});
    ops.push_back(CreateNode{Assignment(), "what a disk made of it"});
    Write(std::move(ops));
    ensemble_.RunUntilIdle();
  }

  static std::string Registration() { return kPaths.server(kApp, kServer, kBuckets); }
  static std::string Assignment() { return kPaths.assignment(kApp, kServer, kBuckets); }
  static std::string Live(uint64_t life) {
    return kPaths.live(kApp, kServer, Incarnation(life), kBuckets);
  }
  void Write(std::vector<WriteOp> ops) {
    others_->Multi(std::move(ops), [](const WriteResult& result) {
      EXPECT_TRUE(result.status.ok()) << result.status;
    });
  }
  bool Exists() { return ensemble_.tree().Get(Assignment()).ok(); }

  // Releases the record. `what` happens when so many of its requests are through: a sync, the
  // registration, the live nodes, the write. -1: never.
  absl::Status Release(int after, const std::function<void()>& what,
                       std::function<bool()> wanted = {}) {
    const DamagedRecord record{.kind = RecordKind::kAssignment,
                               .server = kServer.value(),
                               .path = Assignment(),
                               .node = *ensemble_.tree().Get(Assignment()),
                               .why = absl::DataLossError("not a record"),
                               .kept = absl::OkStatus(),
                               .kept_at = "a copy"};
    std::optional<absl::Status> answer;
    ReleaseAssignment(
        {.store = store_.get(),
         .paths = kPaths,
         .app = kApp,
         .buckets = kBuckets,
         .leader_epoch = LeaderEpoch(),
         .post = [](auto task) { task(); }},
        record, [&](absl::Status status) { answer = std::move(status); }, std::move(wanted));
    for (int through = 0; ensemble_.CanApply(session_); ++through) {
      if (through == after) what();
      if (ensemble_.CanApply(session_)) ensemble_.Apply(session_);
      if (!ensemble_.Connected(session_)) ensemble_.Reconnect(session_);
      while (ensemble_.CanDeliver(session_)) ensemble_.Deliver(session_);
    }
    return answer.value_or(absl::DeadlineExceededError("no answer"));
  }
  absl::Status Release(int comes_back_after) {
    return Release(comes_back_after, [this] { ComeBack(); });
  }
  void ComeBack() {
    const SessionNumber others = ensemble_.last_session();
    Write({SetNode{Registration(), ""}, CreateNode{Live(1), ""}});
    while (ensemble_.CanApply(others)) ensemble_.Apply(others);
  }

  MemoryEnsemble ensemble_;
  std::unique_ptr<CoordinationStore> store_;
  const SessionNumber session_;
  std::unique_ptr<CoordinationStore> others_;
};

TEST_F(ReleaseTest, DeletesTheRecordOfAServerThatIsGone) {
  EXPECT_EQ(Release(-1), absl::OkStatus());
  EXPECT_FALSE(Exists());
}

TEST_F(ReleaseTest, RefusesWhileTheServerIsLive) {
  EXPECT_EQ(Release(2).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Exists());
}

TEST_F(ReleaseTest, AServerThatComesBackJustBeforeTheWriteKeepsItsRecord) {
  EXPECT_EQ(Release(3).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(Exists());
}

TEST_F(ReleaseTest, IsNotBegunOnceNobodyWaitsForTheAnswer) {
  bool wanted = true;
  const absl::Status status = Release(
      2, [&wanted] { wanted = false; }, [&wanted] { return wanted; });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_TRUE(Exists());
}

TEST_F(ReleaseTest, OneWhoseAnswerIsLostIsReadBack) {
  EXPECT_EQ(Release(3, [this] { ensemble_.LoseNextAnswer(session_); }), absl::OkStatus());
  EXPECT_FALSE(Exists());
}

TEST_F(ReleaseTest, OneThatTheConnectionTookWithItIsWrittenAgainAsLongAsItIsWanted) {
  int asked = 0;  // before the write, and when it is known that it did not happen
  const auto break_off = [this] { ensemble_.Disconnect(session_); };
  const absl::Status given_up = Release(3, break_off, [&asked] { return ++asked < 2; });
  EXPECT_EQ(given_up.message(), "nothing was changed: the connection to ZooKeeper broke");
  EXPECT_TRUE(Exists());
  EXPECT_EQ(Release(3, break_off, [] { return true; }), absl::OkStatus());
  EXPECT_FALSE(Exists());
}

TEST_F(ReleaseTest, SaysThatTheOutcomeIsUnknownWhenTheSessionEndsBeforeTheAnswer) {
  const absl::Status status = Release(3, [this] {
    ensemble_.LoseNextAnswer(session_);
    ensemble_.Apply(session_);
    ensemble_.Expire(session_);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message().find("whether the record was released is unknown"), 0u) << status;
}

}  // namespace
}  // namespace shardmanager::orchestrator
