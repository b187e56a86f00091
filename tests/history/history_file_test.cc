#include "history/history_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/history/events.h"
#include "tests/security/scratch_folder.h"

namespace shardmanager::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HistoryFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<HistoryFile> Open(HistoryFile::Bounds bounds = {}) {
    auto file = HistoryFile::Open(path(), "home", bounds);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }
  std::string path() const { return folder_.path() + "/history.db"; }

  static std::vector<std::string> Kinds(const absl::StatusOr<std::vector<v1::ControlEvent>>& of) {
    EXPECT_TRUE(of.ok()) << of.status();
    std::vector<std::string> kinds;
    for (const v1::ControlEvent& event : *of) kinds.push_back(event.kind());
    return kinds;
  }

  // The sequences of all that is found, page by page, oldest first.
  static std::vector<uint64_t> AllPages(HistoryFile& file, const v1::GetHistoryRequest& query) {
    std::vector<uint64_t> all;
    for (std::optional<HistoryFile::Place> before;;) {
      const auto page = file.Read(query, before, 17);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok() || page->empty()) return all;
      std::vector<uint64_t> more;
      for (const v1::ControlEvent& event : *page) more.push_back(event.position().sequence());
      all.insert(all.begin(), more.begin(), more.end());
      before = {page->front().time_ms(), ToPosition(page->front().position())};
    }
  }

  testing::ScratchFolder folder_;
};

TEST_F(HistoryFileTest, KeepsEverythingOfAnEventUntilItIsOpenedAgain) {
  v1::ControlEvent change = Event(2, 1, "AdminChange", "kv", "kv-3");
  change.set_shard("s-1");
  change.set_operation("rollout/1");
  change.set_by("operator/alice");
  change.add_changes("- pause");
  change.add_changes("+ pause reason: \"x\"");
  ASSERT_TRUE(Open()->Append({change}, Source::kSelf, kNowMs).ok());
  const auto kept = Open()->Read(Query("kv"), std::nullopt, 10);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ(kept->front().DebugString(), change.DebugString());
}

TEST_F(HistoryFileTest, FindsByAppServerShardOperationKindAndTime) {
  const auto file = Open();
  v1::ControlEvent lost = Event(1, 1, "ServerLost", "kv", "kv-1");
  v1::ControlEvent moved = Event(1, 2, "MoveStarted", "kv", "kv-2");
  moved.set_shard("s-1");
  v1::ControlEvent approved = Event(1, 3, "OperationApproved", "mail", "kv-1");
  approved.set_operation("r/1");
  const v1::ControlEvent elected = Event(2, 1, "LeaderElected", "");
  ASSERT_TRUE(file->Append({lost, moved, approved, elected}, Source::kSelf, kNowMs).ok());
  const auto find = [&](auto set) {
    v1::GetHistoryRequest query;
    set(query);
    return Kinds(file->Read(query, std::nullopt, 10));
  };
  EXPECT_THAT(find([](auto& q) { q.set_app("kv"); }), ElementsAre("ServerLost", "MoveStarted"));
  EXPECT_THAT(find([](auto& q) { q.set_server("kv-1"); }),
              ElementsAre("ServerLost", "OperationApproved"));
  EXPECT_THAT(find([](auto& q) { q.set_shard("s-1"); }), ElementsAre("MoveStarted"));
  EXPECT_THAT(find([](auto& q) { q.set_operation("r/1"); }), ElementsAre("OperationApproved"));
  EXPECT_THAT(find([](auto& q) { q.add_kinds("LeaderElected"); }), ElementsAre("LeaderElected"));
  EXPECT_THAT(find([&](auto& q) { q.set_since_ms(approved.time_ms()); }),
              ElementsAre("OperationApproved", "LeaderElected"));
  EXPECT_THAT(find([&](auto& q) { q.set_until_ms(moved.time_ms()); }), ElementsAre("ServerLost"));
  EXPECT_THAT(file->Apps(), ElementsAre("", "kv", "mail"));
}

TEST_F(HistoryFileTest, AStormIsARowThatCountsIt) {
  const auto file = Open();
  std::vector<v1::ControlEvent> storm;
  for (uint64_t i = 1; i <= 5'000; ++i) storm.push_back(Event(1, i, "CommandFailed", "kv", "kv-1"));
  ASSERT_TRUE(file->Append(storm, Source::kSelf, kNowMs).ok());
  const auto kept = file->Read(Query("kv"), std::nullopt, 10);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->size(), 4u);
  EXPECT_EQ(kept->back().count(), 4'997u);
  EXPECT_EQ(kept->back().last_ms(), storm.back().time_ms());
  EXPECT_EQ(kept->back().message(), "CommandFailed 5000");
  EXPECT_EQ(file->last(), (Position{1, 5'000}));
}

// Each of another shard, so that nothing is folded.
TEST_F(HistoryFileTest, AStormPushesOutItsOwnOldestAndNothingElse) {
  const auto file = Open({.most_bytes = 1 << 20});
  ASSERT_TRUE(file->Append({Event(1, 1, "AdminChange"), Event(1, 2, "ServerLost", "kv", "kv-1"),
                            Event(1, 3, "MoveStarted", "mail")},
                           Source::kSelf, kNowMs)
                  .ok());
  uint64_t sequence = 3;
  for (int batch = 0; batch < 200; ++batch) {
    std::vector<v1::ControlEvent> storm;
    for (int i = 0; i < 100; ++i) {
      storm.push_back(Event(1, ++sequence, "MoveStarted", "kv"));
      storm.back().set_shard("shard-" + std::to_string(sequence));
    }
    ASSERT_TRUE(file->Append(storm, Source::kSelf, kNowMs).ok()) << batch;
    ASSERT_LE(*file->Bytes(), 1u << 20);
  }
  v1::GetHistoryRequest others;
  for (const char* kind : {"AdminChange", "ServerLost"}) others.add_kinds(kind);
  EXPECT_THAT(Kinds(file->Read(others, std::nullopt, 10)),
              ElementsAre("AdminChange", "ServerLost"));
  EXPECT_THAT(Kinds(file->Read(Query("mail"), std::nullopt, 10)), ElementsAre("MoveStarted"));
  const auto newest = file->Read(Query("kv"), std::nullopt, 1);
  ASSERT_TRUE(newest.ok());
  EXPECT_EQ(newest->front().position().sequence(), sequence) << "the newest of the storm are kept";
  EXPECT_GT(file->rows(), 500u);
  EXPECT_GT(file->deleted_to(), (Position{1, 3}));
  const auto missing = file->Missing(Query("kv"));
  ASSERT_TRUE(missing.ok()) << missing.status();
  ASSERT_EQ(missing->size(), 1u);
  EXPECT_THAT(missing->front(), HasSubstr("of MoveStarted of app kv were deleted to make room"));
}

TEST_F(HistoryFileTest, ChangesThatPeopleAskedForAreTheLastToGo) {
  const auto file = Open({.most_bytes = 1 << 20});
  std::vector<v1::ControlEvent> changes;
  uint64_t sequence = 0;
  for (int i = 0; i < 1'500; ++i) changes.push_back(Event(1, ++sequence, "AdminChange"));
  ASSERT_TRUE(file->Append(changes, Source::kSelf, kNowMs).ok());
  for (int batch = 0; batch < 100; ++batch) {
    std::vector<v1::ControlEvent> storm;
    for (int i = 0; i < 100; ++i) {
      storm.push_back(Event(1, ++sequence, "MoveStarted", "kv"));
      storm.back().set_shard("shard-" + std::to_string(sequence));
    }
    ASSERT_TRUE(file->Append(storm, Source::kSelf, kNowMs).ok()) << batch;
  }
  v1::GetHistoryRequest query;
  query.add_kinds("AdminChange");
  EXPECT_EQ(Kinds(file->Read(query, std::nullopt, 10'000)).size(), 1'500u);
}

TEST_F(HistoryFileTest, WhatIsTooOldGoesButForChangesThatPeopleAskedFor) {
  const auto file = Open({.most_age_ms = 3'600'000});
  ASSERT_TRUE(
      file->Append({Event(1, 1, "AdminChange"), Event(1, 2, "ServerLost")}, Source::kSelf, kNowMs)
          .ok());
  ASSERT_TRUE(
      file->Append({Event(1, 3, "ServerJoined")}, Source::kSelf, kNowMs + 2 * 3'600'000).ok());
  EXPECT_THAT(Kinds(file->Read(Query("kv"), std::nullopt, 10)), ElementsAre("AdminChange"));
}

TEST_F(HistoryFileTest, WhatIsHeardTwiceIsKeptOnce) {
  const auto file = Open();
  const std::vector<v1::ControlEvent> events = {Event(1, 1, "ServerLost"), Event(1, 2, "Paused")};
  ASSERT_TRUE(file->Append(events, Source::kLeader, kNowMs).ok());
  ASSERT_TRUE(file->Append(events, Source::kLeader, kNowMs).ok());
  EXPECT_THAT(Kinds(file->Read(Query("kv"), std::nullopt, 10)),
              ElementsAre("ServerLost", "Paused"));
}

TEST_F(HistoryFileTest, AnotherFileThatFollowsFromAnyPlaceHasTheSame) {
  const auto leader = Open();
  testing::ScratchFolder elsewhere;
  auto standby = HistoryFile::Open(elsewhere.path() + "/history.db", "home", {});
  ASSERT_TRUE(standby.ok()) << standby.status();
  for (uint64_t i = 1; i <= 300; ++i) {
    const v1::ControlEvent event = Event(1, i, i % 3 == 0 ? "ServerLost" : "CommandFailed");
    ASSERT_TRUE(leader->Append({event}, Source::kSelf, kNowMs).ok());
    // At first it is away, then it hears events one by one, then it misses some.
    if (i == 100 || i == 250) {
      const auto missed = leader->ReadAfter((*standby)->last(), 1'000);
      ASSERT_TRUE(missed.ok()) << missed.status();
      ASSERT_TRUE((*standby)->Append(*missed, Source::kLeader, kNowMs).ok());
    } else if ((i > 100 && i < 200) || i > 250) {
      ASSERT_TRUE((*standby)->Append({event}, Source::kLeader, kNowMs).ok());
    }
  }
  const auto one = leader->Read(Query(), std::nullopt, 1'000);
  const auto other = (*standby)->Read(Query(), std::nullopt, 1'000);
  ASSERT_TRUE(one.ok() && other.ok());
  ASSERT_EQ(one->size(), other->size());
  for (size_t i = 0; i < one->size(); ++i) {
    EXPECT_EQ((*one)[i].DebugString(), (*other)[i].DebugString());
  }
}

TEST_F(HistoryFileTest, EventsThatWereForgottenBeforeTheyCouldBeWrittenAreSaidToBeLost) {
  const auto file = Open();
  ASSERT_TRUE(file->Append({Event(1, 1, "ServerLost")}, Source::kSelf, kNowMs).ok());
  ASSERT_TRUE(file->Append({Event(1, 5, "ServerJoined")}, Source::kSelf, kNowMs).ok());
  const auto kept = file->Read(Query(), std::nullopt, 10);
  EXPECT_THAT(Kinds(kept), ElementsAre("ServerLost", "EventsLost", "ServerJoined"));
  EXPECT_THAT((*kept)[1].message(), HasSubstr("3 events are not kept"));
}

TEST_F(HistoryFileTest, PagesGoBackWithoutAGapOrARepeat) {
  const auto file = Open();
  std::vector<v1::ControlEvent> events;
  for (uint64_t i = 1; i <= 10; ++i) {
    events.push_back(Event(1, i, "AdminChange"));
    events.back().set_time_ms(kNowMs);  // all at once
  }
  ASSERT_TRUE(file->Append(events, Source::kSelf, kNowMs).ok());
  std::set<uint64_t> seen;
  std::optional<HistoryFile::Place> before;
  for (int page = 0; page < 4; ++page) {
    const auto read = file->Read(Query(), before, 3);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_FALSE(read->empty());
    for (const v1::ControlEvent& event : *read) {
      EXPECT_TRUE(seen.insert(event.position().sequence()).second);
    }
    before = {read->front().time_ms(), ToPosition(read->front().position())};
  }
  EXPECT_EQ(seen.size(), 10u);
}

// By app, by kind and by both, also where there are more of these than are merged at once.
TEST_F(HistoryFileTest, PagesOfAppsAndKindsHaveWhatAllHas) {
  for (const int apps : {3, 500}) {
    const auto file = Open();
    std::vector<v1::ControlEvent> events;
    const auto app = [&](uint64_t i) { return absl::StrCat("app-", i * 7 % apps); };
    const std::string kinds[] = {"AdminChange", "MoveStarted", "ShardServing", "ChangeDenied"};
    for (uint64_t i = 1; i <= 1'000; ++i) {
      events.push_back(Event(1, i, kinds[i * i % 11 % 4], app(i), absl::StrCat("kv-", i)));
    }
    ASSERT_TRUE(file->Append(events, Source::kSelf, kNowMs).ok());
    for (const bool of_app : {true, false}) {
      for (const bool of_kinds : {true, false}) {
        v1::GetHistoryRequest query;
        if (of_app) query.set_app("app-1");
        if (of_kinds) query.mutable_kinds()->Add(kinds, kinds + 2);
        std::vector<uint64_t> wanted;
        for (const v1::ControlEvent& event : events) {
          const bool is_kind = event.kind() == kinds[0] || event.kind() == kinds[1];
          if ((!of_app || event.app() == "app-1") && (!of_kinds || is_kind)) {
            wanted.push_back(event.position().sequence());
          }
        }
        EXPECT_EQ(AllPages(*file, query), wanted) << apps << of_app << of_kinds;
      }
    }
    std::filesystem::remove(path());
  }
}

TEST_F(HistoryFileTest, RefusesAFileOfANewerVersionAndOneOfAnotherCell) {
  Open();
  EXPECT_EQ(HistoryFile::Open(path(), "abroad", {}).status().code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(Execute(OpenDatabase(path())->get(), "PRAGMA user_version = 2").ok());
  const absl::Status newer = HistoryFile::Open(path(), "home", {}).status();
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(newer.message(), HasSubstr("a newer version of shardmanagerd wrote it"));
}

}  // namespace
}  // namespace shardmanager::history
