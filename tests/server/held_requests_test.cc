// Requests that are held without a thread: when each is decided, and that it is decided once.
#include "server/held/held_requests.h"

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"

namespace shardmanager::server {
namespace {

namespace meta = request_metadata;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ShardId kShard("s");
constexpr Duration kLong = Seconds(60);
// Long enough to see that something is decided, if it is.
constexpr std::chrono::milliseconds kMoment{30};

class HeldRequestsTest : public ::testing::Test {
 protected:
  HeldRequestsTest() {
    table_.SetLease(MonotonicNow() + Seconds(3'600));
    Open();
  }

  void Open() { table_.Open(kShard, Role::kPrimary, ShardEpoch(5)); }
  void Hold() { table_.Hold(kShard); }

  struct Asked {
    std::shared_ptr<server_internal::Wait> wait;
    std::future<std::string> outcome;  // in one word; what is admitted ends at once
    bool IsDecided() {
      return outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
  };
  Asked Ask(Duration patience = kLong) {
    const auto outcome = std::make_shared<std::promise<std::string>>();
    Asked asked{nullptr, outcome->get_future()};
    asked.wait = requests_->Admit(
        [this] { return table_.Admit({"s"}); }, patience,
        [outcome](const AdmissionTable::Admitted& admitted, bool cancelled) {
          if (admitted.slot != nullptr) admitted.slot->Release();
          if (cancelled) return outcome->set_value("cancelled");
          outcome->set_value(admitted.slot != nullptr ? "admitted" : admitted.refusal);
        });
    return asked;
  }
  std::vector<Asked> AskTimes(size_t times) {
    std::vector<Asked> asked;
    for (size_t i = 0; i < times; ++i) asked.push_back(Ask());
    return asked;
  }

  AdmissionTable table_{[](const ShardId&) {}};
  std::optional<HeldRequests> requests_{std::in_place, table_,
                                        [](const auto&, TimePoint until) { return until; }, 1};
};

TEST_F(HeldRequestsTest, WhatIsNotHeldIsDecidedAtOnce) {
  EXPECT_TRUE(Ask().IsDecided());
  table_.Close(kShard);
  Asked refused = Ask();
  ASSERT_TRUE(refused.IsDecided());
  EXPECT_EQ(refused.outcome.get(), meta::kNotOwner);
}

TEST_F(HeldRequestsTest, WhatIsHeldIsAdmittedWhenTheShardIsOpenAgain) {
  Hold();
  Asked asked = Ask();
  EXPECT_EQ(asked.outcome.wait_for(kMoment), std::future_status::timeout);
  Open();
  EXPECT_EQ(asked.outcome.get(), "admitted");
}

TEST_F(HeldRequestsTest, WhatIsHeldOnceMoreIsDecidedInTheEnd) {
  Hold();
  Asked asked = Ask();
  for (int i = 0; i < 10; ++i) Hold();
  EXPECT_EQ(asked.outcome.wait_for(kMoment), std::future_status::timeout);
  table_.Close(kShard);
  EXPECT_EQ(asked.outcome.get(), meta::kNotOwner);
}

// Whoever hands a shard over must not run what the application does with a request.
TEST_F(HeldRequestsTest, WhatWasHeldIsDecidedOnAnotherThread) {
  Hold();
  std::promise<std::thread::id> decided;
  requests_->Admit([this] { return table_.Admit({"s"}); }, kLong,
                   [&](const AdmissionTable::Admitted& admitted, bool) {
                     admitted.slot->Release();
                     decided.set_value(std::this_thread::get_id());
                   });
  Open();
  EXPECT_NE(decided.get_future().get(), std::this_thread::get_id());
}

TEST_F(HeldRequestsTest, FirstComeFirstServed) {
  Hold();
  std::vector<int> order;  // of the only thread
  std::promise<void> all;
  for (int i = 0; i < 3; ++i) {
    requests_->Admit([this] { return table_.Admit({"s"}); }, kLong,
                     [&, i](const AdmissionTable::Admitted& admitted, bool) {
                       admitted.slot->Release();
                       order.push_back(i);
                       if (order.size() == 3) all.set_value();
                     });
  }
  Open();
  all.get_future().wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST_F(HeldRequestsTest, WhoseTimeIsOverIsRefused) {
  Hold();
  const TimePoint until = MonotonicNow() + Milliseconds(20);
  Asked asked = Ask(Milliseconds(20));
  EXPECT_EQ(asked.outcome.get(), meta::kMoving);
  EXPECT_GE(MonotonicNow(), until);
}

TEST_F(HeldRequestsTest, WhoMayNotWaitIsRefusedAtOnce) {
  Hold();
  Asked asked = Ask(Duration(0));
  ASSERT_TRUE(asked.IsDecided());
  EXPECT_EQ(asked.outcome.get(), meta::kMoving);
}

TEST_F(HeldRequestsTest, WhoseClientHasGoneIsDecidedAtOnce) {
  Hold();
  Asked asked = Ask();
  asked.wait->Cancel();
  ASSERT_TRUE(asked.IsDecided());
  EXPECT_EQ(asked.outcome.get(), "cancelled");
  asked.wait->Cancel();  // and no harm
}

TEST_F(HeldRequestsTest, ThreadsAndRequestsAreCountedTogether) {
  Hold();
  const auto held = table_.Admit({"s"});
  auto thread = std::async(std::launch::async,
                           [&] { return table_.queue().AwaitTurn(held, MonotonicNow() + kLong); });
  std::vector<Asked> asked = AskTimes(HeldQueue::kMostHeld);
  // Which of them comes too late depends on when the thread began to wait.
  size_t refused = 0;
  while (refused == 0 && thread.wait_for(kMoment) != std::future_status::ready) {
    for (Asked& one : asked) refused += one.IsDecided() ? 1 : 0;
  }
  Open();
  EXPECT_EQ(refused + (thread.get() ? 0 : 1), 1u);
}

TEST_F(HeldRequestsTest, PlacesOfThoseThatHaveGoneAreFreeAgain) {
  Hold();
  std::vector<Asked> asked = AskTimes(HeldQueue::kMostHeld);
  Asked too_many = Ask();
  ASSERT_TRUE(too_many.IsDecided());
  EXPECT_EQ(too_many.outcome.get(), meta::kMoving);
  asked[7].wait->Cancel();
  Asked one_more = Ask();
  EXPECT_FALSE(one_more.IsDecided());
  Open();
  EXPECT_EQ(one_more.outcome.get(), "admitted");
  asked.erase(asked.begin() + 7);
  for (Asked& one : asked) EXPECT_EQ(one.outcome.get(), "admitted");
}

TEST_F(HeldRequestsTest, WaitsForTheRenewalOfTheLease) {
  table_.SetLease(MonotonicNow());
  Asked asked = Ask();
  EXPECT_EQ(asked.outcome.wait_for(kMoment), std::future_status::timeout);
  table_.SetLease(MonotonicNow() + Seconds(3'600));
  EXPECT_EQ(asked.outcome.get(), "admitted");
  EXPECT_THAT(table_.lease_meter().Text(Duration(0)),
              HasSubstr("shardmanager_server_lease_held_requests_total 1\n"));
}

TEST_F(HeldRequestsTest, F5_WhatWaitsForALeaseIsRefusedWhenTheSessionHasEnded) {
  table_.SetLease(MonotonicNow());
  Asked asked = Ask();
  table_.SetLease(TimePoint::min());
  EXPECT_EQ(asked.outcome.get(), meta::kLeaseLapsed);
}

TEST_F(HeldRequestsTest, AtTheEndWhatIsHeldIsRefused) {
  Hold();
  std::vector<Asked> asked = AskTimes(100);
  table_.StopAdmitting();
  requests_->Finish();
  for (Asked& one : asked) {
    ASSERT_TRUE(one.IsDecided());
    EXPECT_EQ(one.outcome.get(), meta::kMoving);
  }
  EXPECT_EQ(Ask().outcome.get(), meta::kStopping);
}

// The turn, the time-out and the client's departure come at about the same time.
TEST_F(HeldRequestsTest, EachIsDecidedOnce) {
  constexpr int kRounds = 2'000;
  std::atomic<int> decided{0};
  std::atomic<bool> stop{false};
  std::thread toggling([&] {
    while (!stop) {
      Hold();
      Open();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    const auto wait = requests_->Admit([this] { return table_.Admit({"s"}); }, Duration(i % 50),
                                       [&](const AdmissionTable::Admitted& admitted, bool) {
                                         if (admitted.slot != nullptr) admitted.slot->Release();
                                         ++decided;
                                       });
    if (i % 2 == 0) wait->Cancel();
  }
  stop = true;
  toggling.join();
  table_.StopAdmitting();
  requests_.reset();
  EXPECT_EQ(decided, kRounds);
}

}  // namespace
}  // namespace shardmanager::server
