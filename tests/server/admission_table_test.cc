// Who is admitted, and that no request slips past a close.
#include "server/admission_table.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"

namespace shardmanager::server {
namespace {

namespace meta = request_metadata;
using ::testing::StrEq;

const ShardId kShard("s");

class AdmissionTableTest : public ::testing::Test {
 protected:
  AdmissionTableTest() { table_.SetLease(MonotonicNow() + Seconds(3'600)); }

  std::atomic<int> drained_{0};
  AdmissionTable table_{[this](const ShardId&) { ++drained_; }};
};

TEST_F(AdmissionTableTest, AdmitsUnderTheGrantThatIsOpen) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  const auto admitted = table_.Admit({"s"});
  ASSERT_NE(admitted.slot, nullptr);
  EXPECT_EQ(admitted.epoch, ShardEpoch(5));
  EXPECT_EQ(admitted.role, Role::kPrimary);
  EXPECT_EQ(admitted.slot->shard(), kShard);
  admitted.slot->Release();
}

TEST_F(AdmissionTableTest, RefusalsSayWhy) {
  EXPECT_THAT(table_.Admit({"s"}).refusal, StrEq(meta::kNotOwner));
  table_.ShowLoading(kShard);
  EXPECT_THAT(table_.Admit({"s"}).refusal, StrEq(meta::kLoading));
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  table_.Close(kShard);
  EXPECT_THAT(table_.Admit({"s"}).refusal, StrEq(meta::kNotOwner));
  table_.StopAdmitting();
  EXPECT_THAT(table_.Admit({"s"}).refusal, StrEq(meta::kStopping));
}

TEST_F(AdmissionTableTest, F5_PrimariesAreRefusedFromTheLapseOfTheLease) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  table_.SetLease(MonotonicNow());
  EXPECT_THAT(table_.Admit({"s"}).refusal, StrEq(meta::kLeaseLapsed));
  table_.SetLease(MonotonicNow() + Seconds(3'600));
  const auto admitted = table_.Admit({"s"});
  ASSERT_NE(admitted.slot, nullptr);
  admitted.slot->Release();
}

TEST_F(AdmissionTableTest, SecondariesNeedTheLeaseOnlyIfTheAppSaysSo) {
  table_.Open(kShard, Role::kSecondary, ShardEpoch(5));
  table_.SetLease(TimePoint::min());
  const auto admitted = table_.Admit({"s"});
  ASSERT_NE(admitted.slot, nullptr);
  admitted.slot->Release();
  table_.SetPolicy(OnPartition::kStopAll);
  EXPECT_THAT(table_.Admit({"s"}).refusal, StrEq(meta::kLeaseLapsed));
}

class KeepServingTest : public ::testing::Test {
 protected:
  KeepServingTest() {
    table_.SetPolicy(OnPartition::kKeepServing);
    BeginLease();
  }

  bool Admits() {
    const auto admitted = table_.Admit({"s"});
    if (admitted.slot != nullptr) admitted.slot->Release();
    return admitted.slot != nullptr;
  }
  void BeginLease() {
    table_.SetLease(now_ + Seconds(10));
    now_ += Seconds(1);
  }
  void Lapse() { now_ += Seconds(60); }

  static inline TimePoint now_{Seconds(1'000)};
  AdmissionTable table_{[](const ShardId&) {}, [] { return now_; }};
};

TEST_F(KeepServingTest, WhatWasOpenUnderALeaseStaysOpenWithoutIt) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_FALSE(table_.IsCutOff());
  Lapse();
  EXPECT_TRUE(Admits());
  EXPECT_TRUE(table_.IsCutOff());
  table_.SetLease(TimePoint::min());  // the session has ended
  EXPECT_TRUE(Admits());
  EXPECT_TRUE(table_.IsCutOff());
}

TEST_F(KeepServingTest, NothingBeginsToBeServedWithoutALease) {
  Lapse();
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_FALSE(Admits());
  BeginLease();
  EXPECT_TRUE(Admits());
  Lapse();
  EXPECT_TRUE(Admits());
}

TEST_F(KeepServingTest, ANewGrantOfAShardBeginsAnewAndTheSameOneDoesNot) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  Lapse();
  table_.Close(kShard);
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));  // a drain was called off
  EXPECT_TRUE(Admits());
  table_.Close(kShard);
  table_.Open(kShard, Role::kPrimary, ShardEpoch(6));
  EXPECT_FALSE(Admits());
}

// As after an eviction: the lease is over, though it would have lasted.
TEST_F(KeepServingTest, WhatOpensAfterALeaseWasTakenBackWaitsForTheNextOne) {
  table_.SetLease(TimePoint::min());
  now_ += Seconds(1);
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_FALSE(Admits());
  BeginLease();
  EXPECT_TRUE(Admits());
}

TEST_F(KeepServingTest, WhatWasOpenToForwardedRequestsOnlyWasNotServedYet) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  table_.Close(kShard);
  table_.OpenForwarded(kShard, Role::kPrimary, ShardEpoch(6), "kv-2");
  Lapse();
  const Forwarder old_owner{"kv-2", ShardEpoch(6)};
  EXPECT_THAT(table_.Admit({"s", &old_owner}).refusal, StrEq(meta::kLeaseLapsed));
}

TEST_F(KeepServingTest, IsNotCutOffWhileItsFirstLeaseIsAboutToCome) {
  table_.SetLease(TimePoint::min());
  table_.AwaitLease();
  EXPECT_FALSE(table_.IsCutOff());
  BeginLease();
  EXPECT_FALSE(table_.IsCutOff());
  Lapse();
  EXPECT_TRUE(table_.IsCutOff());
}

TEST_F(KeepServingTest, AProcessThatNeverHadALeaseServesNothingAndIsNotCutOff) {
  AdmissionTable fresh([](const ShardId&) {});
  fresh.SetPolicy(OnPartition::kKeepServing);
  fresh.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_THAT(fresh.Admit({"s"}).refusal, StrEq(meta::kLeaseLapsed));
  EXPECT_FALSE(fresh.IsCutOff());
}

TEST_F(AdmissionTableTest, ServersOfOtherAppsAreNeverCutOff) {
  table_.SetLease(MonotonicNow());
  EXPECT_FALSE(table_.IsCutOff());
}

TEST_F(AdmissionTableTest, NothingIsAdmittedBeforeTheFirstLease) {
  AdmissionTable fresh([](const ShardId&) {});
  fresh.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_THAT(fresh.Admit({"s"}).refusal, StrEq(meta::kLeaseLapsed));
}

TEST_F(AdmissionTableTest, CloseReportsWhenTheLastRequestHasEnded) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  const auto first = table_.Admit({"s"});
  const auto second = table_.Admit({"s"});
  table_.Close(kShard);
  first.slot->Release();
  EXPECT_EQ(drained_, 0);
  second.slot->Release();
  EXPECT_EQ(drained_, 1);
}

TEST_F(AdmissionTableTest, CloseOfAnIdleShardReportsAtOnce) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  table_.Close(kShard);
  EXPECT_EQ(drained_, 1);
}

TEST_F(AdmissionTableTest, F15_RefusalsLeaveTheCountAsItWas) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  table_.SetLease(TimePoint::min());
  for (int i = 0; i < 100; ++i) table_.Admit({"s"});
  drained_ = 0;
  table_.Close(kShard);
  EXPECT_EQ(drained_, 1);
}

TEST_F(AdmissionTableTest, RefusalsReportNothing) {
  table_.ShowLoading(kShard);
  for (int i = 0; i < 100; ++i) table_.Admit({"s"});
  EXPECT_EQ(drained_, 0);
}

TEST_F(AdmissionTableTest, IsIdleOnlyWhenClosedWithNothingInFlight) {
  EXPECT_TRUE(table_.Idle(kShard));
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_FALSE(table_.Idle(kShard));
  const auto admitted = table_.Admit({"s"});
  table_.Close(kShard);
  EXPECT_FALSE(table_.Idle(kShard));
  admitted.slot->Release();
  EXPECT_TRUE(table_.Idle(kShard));
}

TEST_F(AdmissionTableTest, PinDelaysTheDrainWhateverTheLease) {
  EXPECT_EQ(table_.Pin("s"), nullptr);
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  table_.SetLease(TimePoint::min());
  AdmissionSlot* held = table_.Pin("s");
  ASSERT_NE(held, nullptr);
  table_.Close(kShard);
  EXPECT_EQ(drained_, 0);
  held->Release();
  EXPECT_EQ(drained_, 1);
}

TEST_F(AdmissionTableTest, GrowsWithoutLosingShardsOrAdmissions) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  const auto early = table_.Admit({"s"});
  constexpr int kShards = 5'000;
  for (int i = 0; i < kShards; ++i) {
    table_.Open(ShardId("shard-" + std::to_string(i)), Role::kPrimary, ShardEpoch(i + 1));
  }
  for (int i = 0; i < kShards; ++i) {
    const auto admitted = table_.Admit({"shard-" + std::to_string(i)});
    ASSERT_NE(admitted.slot, nullptr) << i;
    EXPECT_EQ(admitted.epoch, ShardEpoch(i + 1));
    admitted.slot->Release();
  }
  table_.Close(kShard);
  EXPECT_EQ(drained_, 0);
  early.slot->Release();
  EXPECT_EQ(drained_, 1);
}

// A request looks at the gate, is counted, looks at the lease, and looks at the gate again. The
// clock is asked between the last two looks: there this one closes the gate.
AdmissionTable* closes_now = nullptr;
TimePoint ClosingClock() {
  if (AdmissionTable* table = std::exchange(closes_now, nullptr)) table->Close(kShard);
  return MonotonicNow();
}

TEST(AdmissionBetweenLooksTest, RequestThatMeetsACloseIsRefusedAndNotCounted) {
  int drained = 0;
  AdmissionTable table([&](const ShardId&) { ++drained; }, ClosingClock);
  table.SetLease(MonotonicNow() + Seconds(3'600));
  table.Open(kShard, Role::kPrimary, ShardEpoch(5));
  closes_now = &table;
  EXPECT_EQ(table.Admit({"s"}).slot, nullptr);
  EXPECT_TRUE(table.Idle(kShard)) << "nothing is in flight, and its drop would wait for ever";
  EXPECT_EQ(drained, 1);
}

// The same between the first look and the count, where only another thread can be in time.
TEST(AdmissionRaceTest, NoCloseLeavesARequestCountedThatWasRefused) {
  constexpr int kCloses = 100'000;
  AdmissionTable table([](const ShardId&) {});
  table.SetLease(MonotonicNow() + Seconds(3'600));
  std::atomic<bool> stop{false};
  std::thread admits([&] {
    while (!stop) {
      const auto admitted = table.Admit({"s"});
      if (admitted.slot != nullptr) admitted.slot->Release();
    }
  });
  bool leaked = false;
  for (int i = 0; i < kCloses && !leaked; ++i) {
    table.Open(kShard, Role::kPrimary, ShardEpoch(5));
    table.Close(kShard);
    const TimePoint patience = MonotonicNow() + Seconds(10);
    leaked = true;  // until it is idle once: a request that comes later is counted for a moment
    while (leaked && MonotonicNow() < patience) leaked = !table.Idle(kShard);
  }
  stop = true;
  admits.join();
  EXPECT_FALSE(leaked);
}

// Many threads admit while one closes. Once a drain is reported nobody works on the
// shard. (Each round has its own shard: a report may come more than once, so a later
// one of the same shard could be about an earlier close.)
TEST(AdmissionRaceTest, NoRequestRunsPastTheReportOfADrain) {
  constexpr uint64_t kRounds = 20;
  constexpr uint64_t kAdmissionsPerRound = 50;
  std::atomic<uint64_t> drained{0};  // the latest round whose drain was reported
  AdmissionTable table([&](const ShardId& shard) {
    drained = std::max(drained.load(), static_cast<uint64_t>(std::stoi(shard.value())));
  });
  table.SetLease(MonotonicNow() + Seconds(3'600));

  std::atomic<uint64_t> round{0};
  std::atomic<uint64_t> admissions{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const uint64_t mine = round;
        const auto admitted = table.Admit({std::to_string(mine)});
        if (admitted.slot == nullptr) {
          std::this_thread::yield();
          continue;
        }
        if (admitted.epoch.value() != mine) ++wrong;
        std::this_thread::yield();
        if (drained >= mine) ++wrong;
        ++admissions;
        admitted.slot->Release();
      }
    });
  }
  for (uint64_t r = 1; r <= kRounds; ++r) {
    const ShardId shard(std::to_string(r));
    table.Open(shard, Role::kPrimary, ShardEpoch(r));
    const uint64_t before = admissions;
    round = r;
    while (admissions < before + kAdmissionsPerRound) std::this_thread::yield();
    table.Close(shard);
    while (drained < r) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(admissions, kRounds * kAdmissionsPerRound);
}

}  // namespace
}  // namespace shardmanager::server
