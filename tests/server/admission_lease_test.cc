// What becomes of requests that find the lease lapsed: they wait for its renewal, and none is
// processed without it.
#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"
#include "server/admission_table.h"

namespace shardmanager::server {
namespace {

namespace meta = request_metadata;
using ::testing::HasSubstr;
using ::testing::StrEq;

const ShardId kShard("s");
constexpr Duration kLong = Seconds(3'600);

class AdmissionLeaseTest : public ::testing::Test {
 protected:
  AdmissionLeaseTest() {
    table_.SetLease(MonotonicNow() + kLong);
    table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  }

  void Lapse() { table_.SetLease(MonotonicNow()); }
  void Renew() { table_.SetLease(MonotonicNow() + kLong); }
  void EndSession() { table_.SetLease(TimePoint::min()); }
  // A held request that waits on a thread of its own.
  std::future<bool> AwaitTurn(const AdmissionTable::Admitted& held, Duration patience) {
    return std::async(std::launch::async, [this, &held, patience] {
      return table_.queue().AwaitTurn(held, MonotonicNow() + patience);
    });
  }
  bool Admits() {
    const auto admitted = table_.Admit({"s"});
    if (admitted.slot != nullptr) admitted.slot->Release();
    return admitted.slot != nullptr;
  }

  std::atomic<int> drained_{0};
  AdmissionTable table_{[this](const ShardId&) { ++drained_; }};
};

TEST_F(AdmissionLeaseTest, LapsedLeaseHoldsUntilItIsRenewed) {
  Lapse();
  const auto held = table_.Admit({"s"});
  ASSERT_NE(held.held_at, nullptr);
  EXPECT_EQ(held.slot, nullptr);
  EXPECT_EQ(held.lapsed_at, table_.lease_until());
  EXPECT_THAT(held.refusal, StrEq(meta::kLeaseLapsed));  // to whoever cannot wait
  auto turn = AwaitTurn(held, Seconds(60));
  Renew();
  EXPECT_TRUE(turn.get());
  EXPECT_TRUE(Admits());
}

TEST_F(AdmissionLeaseTest, RenewalBeforeTheWaitIsNotMissed) {
  Lapse();
  const auto held = table_.Admit({"s"});
  Renew();
  EXPECT_TRUE(table_.queue().AwaitTurn(held, MonotonicNow()));
}

TEST_F(AdmissionLeaseTest, WhatIsHeldIsRefusedOnceTheSessionHasEnded) {
  Lapse();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Seconds(60));
  EndSession();
  EXPECT_TRUE(turn.get());
  const auto refused = table_.Admit({"s"});
  EXPECT_EQ(refused.held_at, nullptr);
  EXPECT_THAT(refused.refusal, StrEq(meta::kLeaseLapsed));
}

TEST_F(AdmissionLeaseTest, NothingIsHeldBeforeTheFirstLease) {
  AdmissionTable fresh([](const ShardId&) {});
  fresh.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_EQ(fresh.Admit({"s"}).held_at, nullptr);
}

// Seed 1488 of the simulation: a server that had just joined refused what was forwarded to it.
TEST_F(AdmissionLeaseTest, AMemberHoldsRequestsUntilItsFirstLease) {
  AdmissionTable fresh([](const ShardId&) {});
  fresh.Open(kShard, Role::kPrimary, ShardEpoch(5));
  fresh.AwaitLease();
  const auto held = fresh.Admit({"s"});
  ASSERT_NE(held.held_at, nullptr);
  EXPECT_EQ(held.slot, nullptr);
  fresh.SetLease(MonotonicNow() + kLong);
  EXPECT_TRUE(fresh.queue().AwaitTurn(held, MonotonicNow()));
  const auto admitted = fresh.Admit({"s"});
  ASSERT_NE(admitted.slot, nullptr);
  admitted.slot->Release();
  EXPECT_THAT(fresh.lease_meter().Text(kLong), HasSubstr("lease_left_at_renewal_seconds_count 0\n"))
      << "the first lease renews none";
}

TEST_F(AdmissionLeaseTest, ALeaseThatRunsIsNotAwaited) {
  table_.AwaitLease();
  const auto admitted = table_.Admit({"s"});
  ASSERT_NE(admitted.slot, nullptr);
  admitted.slot->Release();
}

// A renewal whose own lease is over already: waking would only cost the place in the queue.
TEST_F(AdmissionLeaseTest, LeaseThatHasLapsedAgainWakesNobody) {
  Lapse();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Milliseconds(50));
  Lapse();
  EXPECT_FALSE(turn.get());
}

TEST_F(AdmissionLeaseTest, HeldRequestIsGivenUpInTime) {
  Lapse();
  const auto held = table_.Admit({"s"});
  EXPECT_FALSE(table_.queue().AwaitTurn(held, MonotonicNow() + Milliseconds(20)));
}

TEST_F(AdmissionLeaseTest, HeldRequestHoldsUpNoDrainAndHearsOfIt) {
  Lapse();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Seconds(60));
  table_.Close(kShard);
  EXPECT_EQ(drained_, 1);
  EXPECT_TRUE(turn.get());
  EXPECT_THAT(table_.Admit({"s"}).refusal, StrEq(meta::kNotOwner));
}

TEST_F(AdmissionLeaseTest, SoManyWaitAndNoMoreAndAllAreWoken) {
  constexpr size_t kTooMany = 8;
  Lapse();
  table_.Open(ShardId("other"), Role::kPrimary, ShardEpoch(6));
  const auto held = table_.Admit({"s"});
  const auto at_other = table_.Admit({"other"});
  std::atomic<size_t> refused{0};
  std::vector<std::thread> requests;
  for (size_t i = 0; i < HeldQueue::kMostHeld + kTooMany; ++i) {
    requests.emplace_back([&, i] {
      if (!table_.queue().AwaitTurn(i % 2 == 0 ? held : at_other, MonotonicNow() + Seconds(60)))
        ++refused;
    });
  }
  while (refused < kTooMany) std::this_thread::yield();
  Renew();
  for (std::thread& request : requests) request.join();
  EXPECT_EQ(refused, kTooMany);
}

TEST_F(AdmissionLeaseTest, OldOwnerOfAHandoverHoldsToo) {
  table_.Hold(kShard);
  table_.Forward(kShard, {"kv-2", "host:1", ShardEpoch(6)});
  Lapse();
  const auto held = table_.Admit({"s"});
  ASSERT_NE(held.held_at, nullptr);
  auto turn = AwaitTurn(held, Seconds(60));
  Renew();
  EXPECT_TRUE(turn.get());
  EXPECT_NE(table_.Admit({"s"}).forward_to, nullptr);
}

TEST_F(AdmissionLeaseTest, MeterTellsHowCloseItWas) {
  table_.SetLease(MonotonicNow() + 2 * kLong);  // an hour was left
  Lapse();
  Renew();  // nothing was left
  const std::string text = table_.lease_meter().Text(Milliseconds(1'500));
  EXPECT_THAT(text, HasSubstr("lease_left_at_renewal_seconds_bucket{le=\"0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("lease_left_at_renewal_seconds_bucket{le=\"30\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("lease_left_at_renewal_seconds_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("lease_left_at_renewal_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_server_lease_remaining_seconds 1.5\n"));
}

// Many threads ask while the lease lapses and is renewed. `lapsed` is the round while the lease is
// not valid, else 0: whoever sees the same round before and after must not have been admitted.
TEST(AdmissionLeaseRaceTest, NobodyIsAdmittedWithoutTheLeaseAndNobodyIsLost) {
  constexpr int kRounds = 200;
  AdmissionTable table([](const ShardId&) {});
  table.Open(kShard, Role::kPrimary, ShardEpoch(5));
  table.SetLease(MonotonicNow() + kLong);
  std::atomic<bool> stop{false};
  std::atomic<int> lapsed{0};
  std::atomic<uint64_t> admissions{0};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const int round = lapsed;
        auto admitted = table.Admit({"s"});
        if (round != 0 && lapsed == round && admitted.slot != nullptr) ++wrong;
        while (admitted.held_at != nullptr &&
               table.queue().AwaitTurn(admitted, MonotonicNow() + Seconds(60))) {
          admitted = table.Admit({"s"});
        }
        if (admitted.slot == nullptr) {
          ++wrong;
          continue;
        }
        ++admissions;
        admitted.slot->Release();
      }
    });
  }
  for (int round = 1; round <= kRounds; ++round) {
    table.SetLease(MonotonicNow());
    lapsed = round;
    std::this_thread::yield();
    lapsed = 0;
    const uint64_t before = admissions;
    table.SetLease(MonotonicNow() + kLong);
    while (admissions == before) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace shardmanager::server
