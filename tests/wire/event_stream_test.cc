#include "wire/events/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/history/events.h"
#include "tests/security/scratch_folder.h"

namespace shardmanager::wire {
namespace {

using history::History;
using history::Position;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EventStreamTest : public ::testing::Test {
 protected:
  static constexpr size_t kInMemory = 5;

  History::Options Options() {
    History::Options options;
    options.folder = scratch_.path();
    options.cell = "home";
    options.wall_ms = [] { return history::kNowMs; };
    options.tell = [](const char*, const std::string&) {};
    return options;
  }
  // The leader did so many more things.
  void Do(int times) {
    for (int i = 0; i < times; ++i) {
      v1::ControlEvent event;
      event.set_kind("AdminChange");
      event.set_message(std::to_string(++done_));
      events_.Append(event);
      history_.Add(events_.Read(&kept_, Duration(0)), history::Source::kSelf);
    }
    history_.Flush();
  }
  // What a caller who knows everything up to `after` is told, until there is no more.
  std::vector<std::string> Told(EventStream& stream) {
    std::vector<std::string> told;
    do {
      for (const v1::ControlEvent& event : stream.Next(Duration(0))) {
        told.push_back(event.kind() == "AdminChange" ? event.message() : event.kind());
        lost_ = event.kind() == "EventsLost" ? event.message() : lost_;
      }
    } while (!stream.at_end());
    return told;
  }
  std::vector<std::string> ToldAfter(Position after, bool with_history = true) {
    EventStream stream(events_, with_history ? &history_ : nullptr, after);
    if (after.epoch == 0) stream.FromTheBeginning();
    return Told(stream);
  }

  testing::ScratchFolder scratch_;
  orchestrator::EventLog events_{kInMemory};
  uint64_t kept_ = 0;
  int done_ = 0;
  std::string lost_;
  History history_{Options()};
};

TEST_F(EventStreamTest, GoesOnAfterAnEventThatIsInMemory) {
  events_.BeginEpoch(3);
  Do(5);
  EXPECT_THAT(ToldAfter({3, 3}), ElementsAre("4", "5"));
  EXPECT_THAT(ToldAfter({3, 5}), IsEmpty());
  EXPECT_THAT(ToldAfter({3, 3}, false), ElementsAre("4", "5"));
}

TEST_F(EventStreamTest, WhatIsNotInMemoryAnyMoreComesFromTheHistory) {
  events_.BeginEpoch(3);
  Do(12);
  EXPECT_THAT(ToldAfter({3, 2}), ElementsAre("3", "4", "5", "6", "7", "8", "9", "10", "11", "12"));
  EXPECT_THAT(ToldAfter({0, 0}).size(), 12u);
}

TEST_F(EventStreamTest, WhatIsNotThereEitherIsSaidToBeLost) {
  events_.BeginEpoch(3);
  Do(12);
  EXPECT_THAT(ToldAfter({3, 2}, false), ElementsAre("EventsLost", "8", "9", "10", "11", "12"));
  EXPECT_THAT(lost_, HasSubstr("after epoch 3, event 2 and up to epoch 3, event 7"));
}

TEST_F(EventStreamTest, GoesOnUnderTheNextLeaderAfterWhatWasHeardOfTheLast) {
  history_.Add({history::Event(3, 1, "ServerLost"), history::Event(3, 2, "ServerJoined")},
               history::Source::kLeader);
  events_.BeginEpoch(4);
  Do(2);
  EXPECT_THAT(ToldAfter({3, 1}), ElementsAre("ServerJoined", "1", "2"));
  EXPECT_THAT(ToldAfter({3, 9}), ElementsAre("1", "2")) << "it had heard more than this process";
  EXPECT_THAT(ToldAfter({3, 1}, false), ElementsAre("EventsLost", "1", "2"));
  EXPECT_THAT(lost_, HasSubstr("under earlier leaders is not known here"));
}

TEST_F(EventStreamTest, OneThatIsSlowerThanTheLeaderMissesNothing) {
  events_.BeginEpoch(3);
  Do(2);
  EventStream stream(events_, &history_, {});
  EXPECT_THAT(Told(stream), ElementsAre("1", "2"));
  Do(9);
  EXPECT_THAT(Told(stream), ElementsAre("3", "4", "5", "6", "7", "8", "9", "10", "11"));
}

}  // namespace
}  // namespace shardmanager::wire
