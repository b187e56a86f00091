// One suite over both implementations of the CoordinationStore port: what store.h
// promises, faults included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "coordination/store.h"
#include "tests/coordination/store_test.h"

namespace shardmanager {
namespace {

using absl::StatusCode;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kBelowMinimum{300};

template <typename Harness>
using ConformanceTest = StoreTest<Harness>;
TYPED_TEST_SUITE(ConformanceTest, Harnesses, HarnessNames);

// ---- Records.

TYPED_TEST(ConformanceTest, KeepsWhatWasWrittenUntilItIsDeleted) {
  auto s = this->Connect();
  EXPECT_EQ(this->Get(s, "/a").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", "one"}}).status.ok());
  EXPECT_EQ(this->Get(s, "/a")->data, "one");
  ASSERT_TRUE(this->Write(s, {SetNode{"/a", "two"}}).status.ok());
  EXPECT_EQ(this->Get(s, "/a")->data, "two");
  ASSERT_TRUE(this->Write(s, {DeleteNode{"/a"}}).status.ok());
  EXPECT_EQ(this->Get(s, "/a").status().code(), StatusCode::kNotFound);
}

TYPED_TEST(ConformanceTest, KeepsEmptyAndBinaryData) {
  auto s = this->Connect();
  const std::string binary("\0\xff\n\0", 4);
  ASSERT_TRUE(this->Write(s, {CreateNode{"/empty", ""}, CreateNode{"/bytes", binary}}).status.ok());
  EXPECT_EQ(this->Get(s, "/empty")->data, "");
  EXPECT_EQ(this->Get(s, "/bytes")->data, binary);
}

TYPED_TEST(ConformanceTest, CountsVersionsFromZeroAndOrdersCreates) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}}).status.ok());
  ASSERT_TRUE(this->Write(s, {CreateNode{"/b", ""}}).status.ok());
  const NodeStat a = this->Get(s, "/a")->stat;
  EXPECT_EQ(a.version, 0);
  EXPECT_EQ(a.ephemeral_session, 0);
  EXPECT_LT(a.created_zxid, this->Get(s, "/b")->stat.created_zxid);
  ASSERT_TRUE(this->Write(s, {SetNode{"/a", ""}, SetNode{"/a", ""}}).status.ok());
  EXPECT_EQ(this->Get(s, "/a")->stat.version, 2);
  EXPECT_EQ(this->Get(s, "/a")->stat.created_zxid, a.created_zxid);
}

TYPED_TEST(ConformanceTest, SaysWhyNothingWasWritten) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}, CreateNode{"/a/b", ""}}).status.ok());
  const auto code = [&](WriteOp op) { return this->Write(s, {op}).status.code(); };
  EXPECT_EQ(code(CreateNode{"/a", ""}), StatusCode::kAlreadyExists);
  EXPECT_EQ(code(CreateNode{"/no/b", ""}), StatusCode::kNotFound);
  EXPECT_EQ(code(SetNode{"/no", ""}), StatusCode::kNotFound);
  EXPECT_EQ(code(SetNode{"/a", "", 7}), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(DeleteNode{"/no"}), StatusCode::kNotFound);
  EXPECT_EQ(code(DeleteNode{"/a"}), StatusCode::kFailedPrecondition);       // not empty
  EXPECT_EQ(code(DeleteNode{"/a/b", 7}), StatusCode::kFailedPrecondition);  // version
  EXPECT_EQ(code(CheckVersion{"/no", 0}), StatusCode::kNotFound);
  EXPECT_EQ(code(CheckVersion{"/a", 7}), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(this->Write(s, {CheckVersion{"/a", 0}}).status.ok());
  EXPECT_TRUE(this->Write(s, {CheckVersion{"/a", kAnyVersion}}).status.ok());
  EXPECT_EQ(code(CheckVersion{"/no", kAnyVersion}), StatusCode::kNotFound);
  EXPECT_EQ(code(CreateNode{"no-slash", ""}), StatusCode::kInvalidArgument);
  EXPECT_EQ(this->Get(s, "/a/").status().code(), StatusCode::kInvalidArgument);
}

TYPED_TEST(ConformanceTest, NamesThePathThatAnErrorIsAbout) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}}).status.ok());
  const WriteResult result = this->Write(s, {CheckVersion{"/a", 0}, SetNode{"/which", ""}});
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("set /which"));
  EXPECT_THAT(std::string(this->Get(s, "/what").status().message()), HasSubstr("get /what"));
  EXPECT_THAT(std::string(this->List(s, "/where").status().message()), HasSubstr("list /where"));
}

TYPED_TEST(ConformanceTest, MultiIsAllOrNothingAndNamesTheOpThatFailed) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", "old"}, CreateNode{"/gone", ""}}).status.ok());
  const WriteResult result =
      this->Write(s, {SetNode{"/a", "new"}, CreateNode{"/b", ""}, CreateNode{"/b/c", ""},
                      DeleteNode{"/gone"}, CheckVersion{"/a", 9}, DeleteNode{"/b/c"}});
  EXPECT_EQ(result.status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(result.failed_op, 4);
  EXPECT_EQ(this->Get(s, "/a")->data, "old");
  EXPECT_EQ(this->Get(s, "/a")->stat.version, 0);
  EXPECT_EQ(this->Get(s, "/b").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(this->Get(s, "/gone").ok());
  EXPECT_THAT(*this->List(s, "/"), ElementsAre("a", "gone"));
}

TYPED_TEST(ConformanceTest, OpsOfOneMultiSeeEachOther) {
  auto s = this->Connect();
  const WriteResult result =
      this->Write(s, {CreateNode{"/a", ""}, CreateNode{"/a/b", ""}, SetNode{"/a", "x", 0},
                      CheckVersion{"/a", 1}, DeleteNode{"/a/b"}});
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.failed_op, -1);
  EXPECT_THAT(*this->List(s, "/a"), ElementsAre());
}

TYPED_TEST(ConformanceTest, ListsChildrenSorted) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/f", ""}, CreateNode{"/f/c", ""}, CreateNode{"/f/a", ""},
                              CreateNode{"/f/b", ""}, CreateNode{"/f/a/x", ""}})
                  .status.ok());
  EXPECT_THAT(*this->List(s, "/f"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(this->List(s, "/no").status().code(), StatusCode::kNotFound);
}

TYPED_TEST(ConformanceTest, RefusesWriteAboveTheLimitWithoutSendingIt) {
  auto s = this->Connect();
  const std::string half(kMaxWriteBytes / 2, 'x');
  const WriteResult result =
      this->Write(s, {CreateNode{"/a", half}, CreateNode{"/b", half + half}, CreateNode{"/c", ""}});
  EXPECT_EQ(result.status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("/b"));
  EXPECT_EQ(s->state(), SessionState::kConnected);
  EXPECT_EQ(this->Get(s, "/a").status().code(), StatusCode::kNotFound);
}

TYPED_TEST(ConformanceTest, TakesWritesUpToTheLimit) {
  auto s = this->Connect();
  const std::string data(kMaxWriteBytes - 100, 'x');
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", data}}).status.ok());
  EXPECT_EQ(this->Get(s, "/a")->data.size(), data.size());
  std::vector<WriteOp> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(CreateNode{"/" + std::to_string(i), ""});
  const WriteResult result = this->Write(s, std::move(many));
  EXPECT_TRUE(result.status.ok()) << result.status;
}

TYPED_TEST(ConformanceTest, AnswersComeInTheOrderOfTheRequests) {
  auto s = this->Connect();
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    s->Multi({CreateNode{"/n" + n, ""}}, [this, n](WriteResult) { this->log.Add("w" + n); });
    s->Get("/n" + n, [this, n](absl::StatusOr<Node> node) {
      this->log.Add((node.ok() ? "r" : "missed ") + n);
    });
    expected.insert(expected.end(), {"w" + n, "r" + n});
  }
  ASSERT_TRUE(this->AwaitLog("r199"));
  EXPECT_EQ(this->log.events(), expected);
}

TYPED_TEST(ConformanceTest, AfterSyncReadsSeeWhatOthersWereToldIsWritten) {
  auto writer = this->Connect();
  auto reader = this->Connect();
  for (int i = 0; i < 10; ++i) {
    const std::string path = "/n" + std::to_string(i);
    ASSERT_TRUE(this->Write(writer, {CreateNode{path, ""}}).status.ok());
    ASSERT_TRUE(this->Sync(reader).ok());
    EXPECT_TRUE(this->Get(reader, path).ok());
  }
}

// ---- Sessions.

TYPED_TEST(ConformanceTest, TellsItsIdAndGrantedTimeout) {
  auto a = this->Connect(kLongTimeout);
  auto b = this->Connect(kBelowMinimum);
  EXPECT_EQ(a->session_timeout(), kLongTimeout);
  EXPECT_GT(b->session_timeout(), kBelowMinimum);  // the store's minimum
  EXPECT_NE(a->session_id(), 0);
  EXPECT_NE(a->session_id(), b->session_id());
}

TYPED_TEST(ConformanceTest, EphemeralNodeGoesWhenItsSessionIsClosed) {
  auto owner = this->Connect();
  auto observer = this->Connect();
  ASSERT_TRUE(this->Write(owner, {CreateNode{"/e", "", true}}).status.ok());
  EXPECT_EQ(this->Get(observer, "/e")->stat.ephemeral_session, owner->session_id());
  owner->Close();
  EXPECT_EQ(owner->state(), SessionState::kClosed);
  EXPECT_TRUE(this->AwaitGone(observer, "/e"));
}

TYPED_TEST(ConformanceTest, EphemeralNodeHasNoChildren) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/e", "", true}}).status.ok());
  EXPECT_EQ(this->Write(s, {CreateNode{"/e/c", ""}}).status.code(),
            StatusCode::kFailedPrecondition);
}

TYPED_TEST(ConformanceTest, EphemeralNodeSurvivesDisconnectShorterThanTheSession) {
  auto owner = this->Connect(kLongTimeout, "owner");
  auto observer = this->Connect();
  ASSERT_TRUE(this->Write(owner, {CreateNode{"/e", "", true}}).status.ok());
  const int64_t id = owner->session_id();
  this->harness.Disconnect(*owner);
  ASSERT_TRUE(this->AwaitState(owner, SessionState::kSuspended));
  EXPECT_TRUE(this->Get(observer, "/e").ok());
  this->harness.Reconnect(*owner);
  ASSERT_TRUE(this->AwaitLog("owner:connected", 2));
  EXPECT_EQ(owner->session_id(), id);
  EXPECT_TRUE(this->Get(owner, "/e").ok());
  EXPECT_THAT(this->log.events(),
              ElementsAre("owner:connected", "owner:suspended", "owner:connected"));
}

TYPED_TEST(ConformanceTest, EphemeralNodeGoesWhenItsSessionExpires) {
  auto owner = this->Connect(kShortTimeout);
  auto observer = this->Connect();
  ASSERT_TRUE(this->Write(owner, {CreateNode{"/e", "", true}}).status.ok());
  this->harness.Disconnect(*owner);
  EXPECT_TRUE(this->AwaitGone(observer, "/e"));
  // Only the store can tell: until it is in reach, the session may still live.
  ASSERT_TRUE(this->AwaitState(owner, SessionState::kSuspended));
  this->harness.Reconnect(*owner);
  EXPECT_TRUE(this->AwaitState(owner, SessionState::kExpired));
}

TYPED_TEST(ConformanceTest, ExpiredSessionAnswersAbortedForEver) {
  auto s = this->Connect(kShortTimeout, "s");
  this->harness.Expire(*s);
  ASSERT_TRUE(this->AwaitState(s, SessionState::kExpired));
  EXPECT_EQ(this->Get(s, "/").status().code(), StatusCode::kAborted);
  EXPECT_EQ(this->List(s, "/").status().code(), StatusCode::kAborted);
  EXPECT_EQ(this->Write(s, {CreateNode{"/a", ""}}).status.code(), StatusCode::kAborted);
  EXPECT_EQ(this->Sync(s).code(), StatusCode::kAborted);
  EXPECT_EQ(this->log.Count("s:expired"), 1u);
  auto next = this->Connect();
  EXPECT_EQ(this->Get(next, "/a").status().code(), StatusCode::kNotFound);
}

TYPED_TEST(ConformanceTest, RequestsMadeWithoutConnectionWaitForIt) {
  auto s = this->Connect();
  this->harness.Disconnect(*s);
  ASSERT_TRUE(this->AwaitState(s, SessionState::kSuspended));
  s->Multi({CreateNode{"/a", "x"}}, [&](WriteResult r) {
    this->log.Add("write " + std::string(absl::StatusCodeToString(r.status.code())));
  });
  s->Get("/a", [&](absl::StatusOr<Node> node) {
    this->log.Add("read " + (node.ok() ? node->data : node.status().ToString()));
  });
  auto observer = this->Connect();
  EXPECT_EQ(this->Get(observer, "/a").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(this->log.events(), ElementsAre());
  this->harness.Reconnect(*s);
  ASSERT_TRUE(this->AwaitLog("read x"));
  EXPECT_THAT(this->log.events(), ElementsAre("write OK", "read x"));
}

TYPED_TEST(ConformanceTest, RequestsThatWaitAreAbortedByExpiry) {
  auto s = this->Connect(kShortTimeout);
  auto observer = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/e", "", true}}).status.ok());
  this->harness.Disconnect(*s);
  ASSERT_TRUE(this->AwaitState(s, SessionState::kSuspended));
  Answer<WriteResult> write(this->harness);
  s->Multi({CreateNode{"/a", ""}}, write.callback());
  ASSERT_TRUE(this->AwaitGone(observer, "/e"));
  this->harness.Reconnect(*s);
  EXPECT_EQ(this->Wait(write).status.code(), StatusCode::kAborted);
  EXPECT_EQ(this->Get(observer, "/a").status().code(), StatusCode::kNotFound);
}

TYPED_TEST(ConformanceTest, WriteWhoseAnswerIsLostIsUnavailableAndCanBeReadBack) {
  auto s = this->Connect();
  auto observer = this->Connect();
  Answer<bool> created(this->harness);
  ASSERT_FALSE(this->Get(observer, "/a", [&] { created.Set(true); }).ok());

  this->harness.SwallowAnswers(*s);
  Answer<WriteResult> write(this->harness);
  s->Multi({CreateNode{"/a", "mine", true}}, write.callback());
  ASSERT_TRUE(this->harness.Await([&] { return created.has_value(); }));
  EXPECT_FALSE(write.has_value());
  this->harness.Disconnect(*s);
  const WriteResult result = this->Wait(write);
  EXPECT_EQ(result.status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(result.failed_op, -1);

  this->harness.Reconnect(*s);
  const auto node = this->Get(s, "/a");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->data, "mine");
  EXPECT_EQ(node->stat.ephemeral_session, s->session_id());
}

TYPED_TEST(ConformanceTest, ReadsInFlightWhenTheConnectionBreaksAreUnavailable) {
  auto s = this->Connect();
  this->harness.SwallowAnswers(*s);
  Answer<absl::StatusOr<Node>> get(this->harness);
  Answer<absl::StatusOr<std::vector<std::string>>> list(this->harness);
  Answer<absl::Status> sync(this->harness);
  s->Get("/", get.callback(), this->LogWatch("watch"));
  s->GetChildren("/", list.callback(), this->LogWatch("watch"));
  s->Sync(sync.callback());
  this->harness.Disconnect(*s);
  ASSERT_TRUE(this->AwaitState(s, SessionState::kSuspended));
  this->harness.Reconnect(*s);
  // Those that the break finds unsent wait, and are answered later: the last ones, in order.
  const std::vector<StatusCode> got = {this->Wait(get).status().code(),
                                       this->Wait(list).status().code(), this->Wait(sync).code()};
  const auto unsent = std::find(got.begin(), got.end(), StatusCode::kOk);
  EXPECT_THAT(std::vector(got.begin(), unsent), Each(StatusCode::kUnavailable));
  EXPECT_THAT(std::vector(unsent, got.end()), Each(StatusCode::kOk));
}

TYPED_TEST(ConformanceTest, NoCallbackAfterClose) {
  auto s = this->Connect(kLongTimeout, "s");
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}}).status.ok());
  ASSERT_TRUE(this->Get(s, "/a", this->LogWatch("watch")).ok());
  this->harness.SwallowAnswers(*s);
  const auto told = [this](const auto&) { this->log.Add("answer"); };
  for (int i = 0; i < 100; ++i) s->Get("/a", told);
  s->Multi({SetNode{"/a", "x"}}, told);
  s->Close();
  const size_t events = this->log.events().size();
  s->Get("/a", told);
  s->Multi({SetNode{"/a", "x"}}, told);
  s->Sync(told);
  s->Close();
  // Whatever another session sees done is later than what Close may have let slip.
  auto observer = this->Connect();
  ASSERT_TRUE(this->Write(observer, {SetNode{"/a", "y"}}).status.ok());
  EXPECT_EQ(this->log.events().size(), events);
  EXPECT_EQ(this->log.Count("answer"), 0u);
  EXPECT_EQ(this->log.Count("watch"), 0u);
  EXPECT_EQ(s->state(), SessionState::kClosed);
}

TYPED_TEST(ConformanceTest, ClosingSessionThatNeverConnectedIsHarmless) {
  this->harness.StopStore();
  auto s = this->Start(kLongTimeout, "s");
  s->Get("/", [this](const auto&) { this->log.Add("answer"); });
  s->Close();
  this->harness.StartStore();
  EXPECT_THAT(this->log.events(), ElementsAre());
}

// ---- Watches.

TYPED_TEST(ConformanceTest, DataWatchFiresOnceOnSet) {
  auto s = this->Connect();
  auto other = this->Connect();
  ASSERT_TRUE(this->Write(other, {CreateNode{"/a", ""}}).status.ok());
  ASSERT_TRUE(this->Get(s, "/a", this->LogWatch("watch")).ok());
  ASSERT_TRUE(this->Write(other, {SetNode{"/a", "x"}}).status.ok());
  ASSERT_TRUE(this->AwaitLog("watch"));
  ASSERT_TRUE(this->Write(other, {SetNode{"/a", "y"}}).status.ok());
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.Count("watch"), 1u);
}

TYPED_TEST(ConformanceTest, DataWatchFiresOnDelete) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}}).status.ok());
  ASSERT_TRUE(this->Get(s, "/a", this->LogWatch("watch")).ok());
  ASSERT_TRUE(this->Write(s, {DeleteNode{"/a"}}).status.ok());
  EXPECT_TRUE(this->AwaitLog("watch"));
}

TYPED_TEST(ConformanceTest, WatchOnAbsentNodeFiresWhenItIsCreated) {
  auto s = this->Connect();
  ASSERT_EQ(this->Get(s, "/a", this->LogWatch("watch")).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(this->Write(s, {CreateNode{"/b", ""}}).status.ok());
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.Count("watch"), 0u);
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}}).status.ok());
  EXPECT_TRUE(this->AwaitLog("watch"));
}

TYPED_TEST(ConformanceTest, ChildrenWatchFiresOnceOnCreateAndDeleteButNotOnSet) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/f", ""}, CreateNode{"/f/a", ""}}).status.ok());
  ASSERT_TRUE(this->List(s, "/f", this->LogWatch("watch")).ok());
  ASSERT_TRUE(this->Write(s, {SetNode{"/f/a", "x"}, SetNode{"/f", "x"}}).status.ok());
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.Count("watch"), 0u);
  ASSERT_TRUE(this->Write(s, {CreateNode{"/f/b", ""}, CreateNode{"/f/c", ""}, DeleteNode{"/f/a"}})
                  .status.ok());
  ASSERT_TRUE(this->AwaitLog("watch"));
  ASSERT_TRUE(this->List(s, "/f", this->LogWatch("watch")).ok());
  ASSERT_TRUE(this->Write(s, {DeleteNode{"/f/b"}}).status.ok());
  ASSERT_TRUE(this->AwaitLog("watch", 2));
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.Count("watch"), 2u);
}

TYPED_TEST(ConformanceTest, AllWatchersOfOneNodeAreToldAndNoOthers) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}, CreateNode{"/b", ""}}).status.ok());
  ASSERT_TRUE(this->Get(s, "/a", this->LogWatch("first")).ok());
  ASSERT_TRUE(this->Get(s, "/a", this->LogWatch("second")).ok());
  ASSERT_TRUE(this->Get(s, "/b", this->LogWatch("other")).ok());
  ASSERT_TRUE(this->List(s, "/a", this->LogWatch("children")).ok());
  ASSERT_TRUE(this->Write(s, {SetNode{"/a", "x"}}).status.ok());
  ASSERT_TRUE(this->AwaitLog("second"));
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_THAT(this->log.events(), ElementsAre("first", "second"));
}

TYPED_TEST(ConformanceTest, NoWatchOfAbsentFolder) {
  auto s = this->Connect();
  ASSERT_EQ(this->List(s, "/f", this->LogWatch("watch")).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(this->Write(s, {CreateNode{"/f", ""}, CreateNode{"/f/a", ""}}).status.ok());
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.Count("watch"), 0u);
}

TYPED_TEST(ConformanceTest, WatchIsToldBeforeAnAnswerThatShowsTheChange) {
  auto s = this->Connect();
  auto other = this->Connect();
  ASSERT_TRUE(this->Write(other, {CreateNode{"/a", "old"}}).status.ok());
  ASSERT_TRUE(this->Get(s, "/a", this->LogWatch("watch")).ok());
  ASSERT_TRUE(this->Write(other, {SetNode{"/a", "new"}}).status.ok());
  ASSERT_TRUE(this->Sync(s).ok());
  s->Get("/a", [this](absl::StatusOr<Node> node) { this->log.Add(node->data); });
  ASSERT_TRUE(this->AwaitLog("new"));
  EXPECT_THAT(this->log.events(), ElementsAre("watch", "new"));
}

TYPED_TEST(ConformanceTest, WatchesFireOnceWhenTheSessionIsSuspended) {
  auto s = this->Connect(kLongTimeout, "s");
  auto other = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", ""}}).status.ok());
  ASSERT_TRUE(this->Get(s, "/a", this->LogWatch("data")).ok());
  ASSERT_TRUE(this->List(s, "/a", this->LogWatch("children")).ok());
  ASSERT_FALSE(this->Get(s, "/no", this->LogWatch("absent")).ok());
  this->harness.Disconnect(*s);
  ASSERT_TRUE(this->AwaitLog("children") && this->AwaitLog("absent"));
  ASSERT_TRUE(this->Write(other, {SetNode{"/a", "x"}, CreateNode{"/a/b", ""}}).status.ok());
  this->harness.Reconnect(*s);
  ASSERT_TRUE(this->Sync(s).ok());
  ASSERT_TRUE(this->Write(other, {SetNode{"/a", "y"}, CreateNode{"/no", ""}}).status.ok());
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.Count("data"), 1u);
  EXPECT_EQ(this->log.Count("children"), 1u);
  EXPECT_EQ(this->log.Count("absent"), 1u);
}

TYPED_TEST(ConformanceTest, WatchSetAgainAfterSuspensionTellsOfLaterChanges) {
  auto s = this->Connect();
  auto other = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", "old"}}).status.ok());
  // What every level-triggered reader does: whenever told, read again.
  std::function<void()> look = [&] {
    s->Get(
        "/a", [&](absl::StatusOr<Node> n) { this->log.Add(n.ok() ? n->data : "failed"); },
        [&] { look(); });
  };
  look();
  ASSERT_TRUE(this->AwaitLog("old"));
  for (const std::string data : {"one", "two"}) {
    this->harness.Disconnect(*s);
    ASSERT_TRUE(this->AwaitState(s, SessionState::kSuspended));
    ASSERT_TRUE(this->Write(other, {SetNode{"/a", data}}).status.ok());
    this->harness.Reconnect(*s);
    ASSERT_TRUE(this->AwaitLog(data));
    ASSERT_TRUE(this->Write(other, {SetNode{"/a", data + " more"}}).status.ok());
    ASSERT_TRUE(this->AwaitLog(data + " more"));
  }
  s->Close();
}

TYPED_TEST(ConformanceTest, WatchesFireWhenTheSessionExpires) {
  auto s = this->Connect(kShortTimeout);
  ASSERT_TRUE(this->Get(s, "/", this->LogWatch("watch")).ok());
  this->harness.Expire(*s);
  ASSERT_TRUE(this->AwaitState(s, SessionState::kExpired));
  EXPECT_TRUE(this->AwaitLog("watch"));
  EXPECT_EQ(this->log.Count("watch"), 1u);
}

// ---- The store comes and goes.

TYPED_TEST(ConformanceTest, ConnectsWhenAStoreThatWasDownComes) {
  this->harness.StopStore();
  auto s = this->Start(kLongTimeout, "s");
  Answer<WriteResult> write(this->harness);
  s->Multi({CreateNode{"/a", ""}}, write.callback());
  EXPECT_EQ(s->state(), SessionState::kConnecting);
  EXPECT_EQ(s->session_timeout().count(), 0);
  this->harness.StartStore();
  EXPECT_TRUE(this->Wait(write).status.ok());
  EXPECT_THAT(this->log.events(), ElementsAre("s:connected"));
}

TYPED_TEST(ConformanceTest, RestartOfTheStoreKeepsSessionsAndData) {
  auto s = this->Connect(kLongTimeout, "s");
  const int64_t id = s->session_id();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/a", "x"}, CreateNode{"/e", "", true}}).status.ok());
  ASSERT_TRUE(this->Write(s, {SetNode{"/a", "y"}}).status.ok());
  this->harness.StopStore();
  ASSERT_TRUE(this->AwaitState(s, SessionState::kSuspended));
  this->harness.StartStore();
  ASSERT_TRUE(this->AwaitLog("s:connected", 2));
  EXPECT_EQ(s->session_id(), id);
  EXPECT_EQ(this->Get(s, "/a")->data, "y");
  EXPECT_EQ(this->Get(s, "/a")->stat.version, 1);
  EXPECT_EQ(this->Get(s, "/e")->stat.ephemeral_session, id);
}

}  // namespace
}  // namespace shardmanager
