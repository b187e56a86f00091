#include "history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/history/events.h"
#include "tests/security/scratch_folder.h"

namespace shardmanager::history {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HistoryTest : public ::testing::Test {
 protected:
  History::Options Options(const std::string& folder = "history") {
    History::Options options;
    options.folder = scratch_.path() + "/" + folder;
    options.cell = "home";
    options.wall_ms = [] { return kNowMs; };
    options.retry = Milliseconds(5);
    options.tell = [this](const char* kind, const std::string& message) {
      std::lock_guard lock(mutex_);
      told_.emplace_back(kind);
      last_told_ = message;
    };
    return options;
  }

  std::vector<std::string> told() {
    std::lock_guard lock(mutex_);
    return told_;
  }

  // Of all that is kept.
  static std::vector<std::string> Kinds(History& history) {
    history.Flush();
    const auto kept = history.Read(Query());
    EXPECT_TRUE(kept.ok()) << kept.status();
    std::vector<std::string> kinds;
    if (kept.ok()) {
      for (const v1::ControlEvent& event : kept->events()) kinds.push_back(event.kind());
    }
    return kinds;
  }

  std::vector<std::string> FilesAside() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(scratch_.path() + "/history")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("history.db.") && name.ends_with("Z")) files.push_back(name);
    }
    return files;
  }

  void AwaitProblem(History& history, bool there) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (history.problem().empty() == there) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }

  testing::ScratchFolder scratch_;
  std::mutex mutex_;
  std::vector<std::string> told_;
  std::string last_told_;
};

TEST_F(HistoryTest, MakesItsFolderAndKeepsWhatItIsGiven) {
  {
    History history(Options());
    history.Add({Event(1, 1, "ServerLost")}, Source::kSelf);
    EXPECT_THAT(Kinds(history), ElementsAre("ServerLost"));
    history.Add({Event(1, 2, "ServerJoined")}, Source::kSelf);
  }
  History again(Options());
  EXPECT_THAT(Kinds(again), ElementsAre("ServerLost", "ServerJoined"))
      << "also what was given last, before it went";
  EXPECT_EQ(*again.Last(), (Position{1, 2}));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(HistoryTest, ADamagedFileIsSetAsideAndANewOneIsBegun) {
  History(Options()).Add({Event(1, 1, "ServerLost")}, Source::kSelf);
  const std::string path = scratch_.path() + "/history/history.db";
  fs::remove(path + "-wal");
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .write(std::string(3'000, 'x').data(), 3'000);
  History history(Options());
  history.Add({Event(1, 2, "ServerJoined")}, Source::kLeader);
  EXPECT_THAT(Kinds(history), ElementsAre("ServerJoined"));
  EXPECT_THAT(told(), ElementsAre("HistoryDamaged"));
  EXPECT_THAT(FilesAside(), ElementsAre(HasSubstr("damaged-2026")));
  EXPECT_EQ(history.problem(), "");
}

TEST_F(HistoryTest, OneThatIsDamagedWhileItIsOpenIsSetAsideToo) {
  History history(Options());
  std::vector<v1::ControlEvent> events;
  for (uint64_t i = 1; i <= 3'000; ++i) {
    events.push_back(Event(1, i, "AdminChange"));
    events.back().set_message(std::string(2'000, 'm'));  // more than SQLite holds in memory
  }
  history.Add(events, Source::kSelf);
  history.Flush();
  const std::string path = scratch_.path() + "/history/history.db";
  for (const std::string& file : {path, path + "-wal"}) {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    const std::string rubbish(fs::file_size(file), 'x');
    out.write(rubbish.data(), static_cast<std::streamsize>(rubbish.size()));
  }
  v1::GetHistoryRequest all;
  all.set_limit(10'000);
  EXPECT_EQ(history.Read(all).status().code(), absl::StatusCode::kDataLoss);
  history.Add({Event(1, 3'001, "ServerLost")}, Source::kLeader);
  EXPECT_THAT(Kinds(history), ElementsAre("ServerLost"));
  EXPECT_THAT(told(), ElementsAre("HistoryDamaged"));
  EXPECT_THAT(FilesAside(), ElementsAre(HasSubstr("damaged-2026")));
}

TEST_F(HistoryTest, AFullDiskPausesItAndItGoesOnByItselfWithoutALoss) {
  std::signal(SIGXFSZ, SIG_IGN);
  History history(Options());
  history.Add({Event(1, 1, "ServerLost")}, Source::kSelf);
  history.Flush();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 100'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<v1::ControlEvent> events;
  for (uint64_t i = 2; i <= 3'000; ++i) events.push_back(Event(1, i, "AdminChange"));
  history.Add(events, Source::kSelf);
  AwaitProblem(history, true);
  history.Flush();  // it does not wait for ever
  const auto kept = history.Read(Query());
  if (kept.ok()) {
    EXPECT_THAT(kept->problem(), HasSubstr("cannot be used"));
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  AwaitProblem(history, false);
  history.Flush();
  EXPECT_EQ(*history.Last(), (Position{1, 3'000}));
  EXPECT_EQ(history.stats().rows, 3'000u);
  EXPECT_THAT(told(), ElementsAre("HistoryPaused", "HistoryResumed")) << "each is said once";
}

TEST_F(HistoryTest, OneOfANewerVersionStaysAsItIsAndTheProcessGoesOn) {
  History(Options()).Flush();
  const std::string path = scratch_.path() + "/history/history.db";
  ASSERT_TRUE(Execute(OpenDatabase(path)->get(), "PRAGMA user_version = 2").ok());
  {
    History history(Options());
    history.Add({Event(1, 1, "ServerLost")}, Source::kSelf);
    history.Flush();
    EXPECT_THAT(history.problem(), HasSubstr("a newer version of shardmanagerd wrote it"));
    EXPECT_EQ(history.Read(Query()).status().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_THAT(told(), ElementsAre("HistoryPaused"));
  EXPECT_THAT(FilesAside(), IsEmpty());
}

TEST_F(HistoryTest, AFolderThatCannotBeMadeIsAProblemUntilItCan) {
  const std::string file = scratch_.path() + "/taken";
  std::ofstream(file) << "a file";
  History history(Options("taken/history"));
  history.Add({Event(1, 1, "ServerLost")}, Source::kSelf);
  AwaitProblem(history, true);
  fs::remove(file);
  AwaitProblem(history, false);
  EXPECT_THAT(Kinds(history), ElementsAre("ServerLost"));
}

TEST_F(HistoryTest, TwoProcessesDoNotShareAFolder) {
  History first(Options());
  first.Flush();
  History second(Options());
  second.Flush();
  EXPECT_THAT(second.problem(), HasSubstr("another process has its history in this folder"));
  EXPECT_EQ(first.problem(), "");
}

// The cell was made anew: its leaders begin with low epochs.
TEST_F(HistoryTest, ALeaderWhoseEpochWasThereBeforeBeginsAnew) {
  History(Options()).Add({Event(7, 1, "LeaderElected"), Event(7, 2, "ServerLost")}, Source::kSelf);
  History history(Options());
  history.Add({Event(2, 1, "LeaderElected")}, Source::kSelf);
  EXPECT_THAT(Kinds(history), ElementsAre("LeaderElected"));
  EXPECT_THAT(told(), ElementsAre("HistorySetAside"));
  EXPECT_THAT(FilesAside(), ElementsAre(HasSubstr("old-2026")));
}

TEST_F(HistoryTest, AnswersWithPagesAndRefusesWhatItCannotMean) {
  History history(Options());
  history.Add({Event(1, 1, "ServerLost"), Event(1, 2, "Paused"), Event(1, 3, "Resumed")},
              Source::kSelf);
  history.Flush();
  v1::GetHistoryRequest query = Query("kv");
  query.set_limit(2);
  auto page = history.Read(query);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->events(0).kind(), "Paused") << "the newest, and the newest last";
  query.set_page_token(page->older_page_token());
  page = history.Read(query);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->events_size(), 1);
  EXPECT_EQ(page->events(0).kind(), "ServerLost");
  EXPECT_EQ(page->older_page_token(), "");

  query.set_page_token("3");
  EXPECT_THAT(history.Read(query).status().message(), HasSubstr("page_token: found \"3\""));
  query.set_limit(10'001);
  EXPECT_THAT(history.Read(query).status().message(), HasSubstr("limit: found 10001"));
  const absl::Status nothing = history.Read(Query("nope")).status();
  EXPECT_EQ(nothing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(nothing.message(), HasSubstr("of these something is: kv"));
}

TEST_F(HistoryTest, WhoKeepsNoneSaysSoAndHowToKeepOne) {
  const auto none = Answer(nullptr, Query(), "sm-1/4711", /*leading=*/true);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(none.status().message()),
              AllOf(HasSubstr("sm-1/4711 keeps no history"), HasSubstr("--history")));
  History history(Options());
  history.Flush();
  const auto empty = Answer(&history, Query(), "sm-1/4711", /*leading=*/true);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->process(), "sm-1/4711");
  EXPECT_TRUE(empty->leading());
}

}  // namespace
}  // namespace shardmanager::history
