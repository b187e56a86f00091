// A record that cannot be read is released only while its server is gone.
#include "orchestrator/shell/release.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tests/orchestrator/shell/one_server_store.h"

namespace shardmanager::orchestrator {
namespace {

class ReleaseTest : public OneServerStore {
 protected:
  ReleaseTest() {
    Write({CreateNode{Assignment(), "what a disk made of it"}});
    ensemble_.RunUntilIdle();
  }

  std::string Assignment() const { return paths_.assignment(app_, server_, kBuckets); }
  bool Exists() { return ensemble_.tree().Get(Assignment()).ok(); }

  // Releases the record. `what` happens when so many of its requests are through: a sync, the
  // registration, the live nodes, the write. -1: never.
  absl::Status Release(int after, const std::function<void()>& what,
                       std::function<bool()> wanted = {}) {
    const DamagedRecord record{.kind = RecordKind::kAssignment,
                               .server = server_.value(),
                               .path = Assignment(),
                               .node = *ensemble_.tree().Get(Assignment()),
                               .why = absl::DataLossError("not a record"),
                               .kept = absl::OkStatus(),
                               .kept_at = "a copy"};
    std::optional<absl::Status> answer;
    ReleaseAssignment(
        Options(), record, [&](absl::Status status) { answer = std::move(status); },
        std::move(wanted));
    LetThrough(after, what);
    return answer.value_or(absl::DeadlineExceededError("no answer"));
  }
  absl::Status Release(int comes_back_after) {
    return Release(comes_back_after, [this] { ComeBack(); });
  }
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
  const absl::Status status = Release(3, [this] { LoseAnswerAndSession(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message().find("whether the record was released is unknown"), 0u) << status;
}

}  // namespace
}  // namespace shardmanager::orchestrator
