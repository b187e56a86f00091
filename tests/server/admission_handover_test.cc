// Who is held, who is sent on and who is admitted while a shard goes from one server to
// another.
#include <array>
#include <atomic>
#include <future>
#include <memory>
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
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StrEq;

const ShardId kShard("s");
const Successor kNext{"kv-2", "host:1", ShardEpoch(6)};
constexpr Forwarder kOldOwner{"kv-1", ShardEpoch(5)};

class AdmissionHandoverTest : public ::testing::Test {
 protected:
  AdmissionHandoverTest() { table_.SetLease(MonotonicNow() + Seconds(3'600)); }

  void HoldOpenShard() {
    table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
    table_.Hold(kShard);
  }
  void AwaitForwarded() { table_.AwaitForwarded(kShard, Role::kPrimary, ShardEpoch(5), "kv-1"); }
  void OpenForwarded() { table_.OpenForwarded(kShard, Role::kPrimary, ShardEpoch(5), "kv-1"); }

  // In one word; what is admitted ends at once.
  std::string Ask(const Forwarder* forwarder = nullptr, bool for_primary = false) {
    const auto admitted = table_.Admit({"s", forwarder, for_primary});
    if (admitted.held_at != nullptr) return "held";
    if (admitted.forward_to != nullptr) return "to " + admitted.forward_to->server;
    if (admitted.slot == nullptr) return admitted.refusal;
    admitted.slot->Release();
    return "admitted";
  }
  // A held request that waits on a thread of its own.
  std::future<bool> AwaitTurn(const AdmissionTable::Admitted& held, Duration patience) {
    return std::async(std::launch::async, [this, &held, patience] {
      return table_.queue().AwaitTurn(held, MonotonicNow() + patience);
    });
  }

  std::atomic<int> drained_{0};
  std::vector<std::string> forwarded_;
  AdmissionTable table_{[this](const ShardId&) { ++drained_; }, MonotonicNow,
                        [this](const ShardId& shard) { forwarded_.push_back(shard.value()); }};
};

// ---- held

TEST_F(AdmissionHandoverTest, HeldShardDrainsLikeAClosedOne) {
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  const auto in_flight = table_.Admit({"s"});
  table_.Hold(kShard);
  EXPECT_EQ(Ask(), "held");
  EXPECT_EQ(drained_, 0);
  EXPECT_FALSE(table_.Idle(kShard));
  in_flight.slot->Release();
  EXPECT_EQ(drained_, 1);
  EXPECT_TRUE(table_.Idle(kShard));
  EXPECT_EQ(Ask(), "held");
}

TEST_F(AdmissionHandoverTest, NothingHeldKeepsTheShardFromBeingDrained) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Seconds(60));
  EXPECT_TRUE(table_.Idle(kShard));
  table_.Close(kShard);
  EXPECT_TRUE(turn.get());
}

TEST_F(AdmissionHandoverTest, WhatIsHeldIsSentOnOnceItIsForwarded) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Seconds(60));
  table_.Forward(kShard, kNext);
  EXPECT_TRUE(turn.get());
  const auto admitted = table_.Admit({"s"});
  ASSERT_NE(admitted.forward_to, nullptr);
  EXPECT_EQ(*admitted.forward_to, kNext);
  EXPECT_THAT(admitted.refusal, StrEq(meta::kMoving));  // to whoever cannot send it on
}

TEST_F(AdmissionHandoverTest, WhatIsHeldIsAdmittedOnceItIsOpenAgain) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Seconds(60));
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_TRUE(turn.get());
  EXPECT_EQ(Ask(), "admitted");
}

TEST_F(AdmissionHandoverTest, WhatIsHeldIsRefusedOnceItIsClosed) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Seconds(60));
  table_.Close(kShard);
  EXPECT_TRUE(turn.get());
  EXPECT_EQ(Ask(), meta::kNotOwner);
}

TEST_F(AdmissionHandoverTest, EveryHeldRequestIsLetGo) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  std::vector<std::future<bool>> turns;
  for (int i = 0; i < 8; ++i) turns.push_back(AwaitTurn(held, Seconds(60)));
  table_.Forward(kShard, kNext);
  for (auto& turn : turns) EXPECT_TRUE(turn.get());
}

TEST_F(AdmissionHandoverTest, ChangeBeforeTheWaitIsNotMissed) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  table_.Forward(kShard, kNext);
  EXPECT_TRUE(table_.queue().AwaitTurn(held, TimePoint::min()));
}

TEST_F(AdmissionHandoverTest, HeldRequestIsGivenUpInTime) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  EXPECT_THAT(held.refusal, StrEq(meta::kMoving));
  const TimePoint until = MonotonicNow() + Milliseconds(20);
  EXPECT_FALSE(table_.queue().AwaitTurn(held, until));
  EXPECT_GE(MonotonicNow(), until);
}

TEST_F(AdmissionHandoverTest, OtherShardsLetNothingGo) {
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  auto turn = AwaitTurn(held, Milliseconds(50));
  table_.Open(ShardId("other"), Role::kPrimary, ShardEpoch(7));
  EXPECT_FALSE(turn.get());
}

TEST_F(AdmissionHandoverTest, SoManyWaitAndNoMore) {
  constexpr size_t kTooMany = 8;
  HoldOpenShard();
  const auto held = table_.Admit({"s"});
  std::atomic<size_t> refused{0};
  std::vector<std::thread> requests;
  for (size_t i = 0; i < HeldQueue::kMostHeld + kTooMany; ++i) {
    requests.emplace_back([&] {
      if (!table_.queue().AwaitTurn(held, MonotonicNow() + Seconds(60))) ++refused;
    });
  }
  while (refused < kTooMany) std::this_thread::yield();
  table_.Forward(kShard, kNext);
  for (std::thread& request : requests) request.join();
  EXPECT_EQ(refused, kTooMany);
}

TEST_F(AdmissionHandoverTest, StoppingServerHoldsNothing) {
  HoldOpenShard();
  table_.StopAdmitting();
  EXPECT_EQ(Ask(), meta::kStopping);
}

// ---- forwarded by this one

TEST_F(AdmissionHandoverTest, StoppingServerSendsOnAndAdmitsNothing) {
  HoldOpenShard();
  table_.Forward(kShard, kNext);
  table_.Open(ShardId("other"), Role::kPrimary, ShardEpoch(5));
  table_.StopAdmitting();
  EXPECT_EQ(Ask(), "to kv-2");
  EXPECT_EQ(Ask(&kOldOwner), meta::kStopping);
  EXPECT_THAT(table_.Admit({"other"}).refusal, StrEq(meta::kStopping));
}

TEST_F(AdmissionHandoverTest, ForwardedOnceIsNotForwardedAgain) {
  HoldOpenShard();
  table_.Forward(kShard, kNext);
  const Forwarder other{"kv-9", ShardEpoch(5)};
  EXPECT_EQ(Ask(), "to kv-2");
  EXPECT_EQ(Ask(&other), meta::kNotOwner);
}

TEST_F(AdmissionHandoverTest, WhatAnotherForwardsIsNotHeldEither) {
  HoldOpenShard();
  const Forwarder other{"kv-9", ShardEpoch(5)};
  EXPECT_EQ(Ask(&other), meta::kNotOwner);
}

TEST_F(AdmissionHandoverTest, F5_ForwardsOnlyUnderTheLease) {
  HoldOpenShard();
  table_.Forward(kShard, kNext);
  table_.SetLease(MonotonicNow());
  EXPECT_EQ(Ask(), "held");
  table_.SetLease(TimePoint::min());
  EXPECT_EQ(Ask(), meta::kLeaseLapsed);
  table_.SetLease(MonotonicNow() + Seconds(3'600));
  EXPECT_EQ(Ask(), "to kv-2");
}

TEST_F(AdmissionHandoverTest, ForwardsToTheNewestSuccessorUntilItIsClosed) {
  HoldOpenShard();
  table_.Forward(kShard, kNext);
  table_.Forward(kShard, {"kv-3", "host:2", ShardEpoch(7)});
  EXPECT_EQ(Ask(), "to kv-3");
  table_.Close(kShard);
  EXPECT_EQ(Ask(), meta::kNotOwner);
}

// ---- forwarded to this one

TEST_F(AdmissionHandoverTest, PreparedShardHoldsWhatItsOldOwnerForwardsAndSaysSo) {
  AwaitForwarded();
  EXPECT_EQ(Ask(&kOldOwner), "held");
  EXPECT_THAT(forwarded_, ElementsAre("s"));
}

// The add has come before any request: who asks directly is told so, who is forwarded waits.
TEST_F(AdmissionHandoverTest, PreparedShardThatLoadsForEverybodyStillHoldsWhatIsForwarded) {
  AwaitForwarded();
  table_.ShowLoading(kShard);
  EXPECT_EQ(Ask(), meta::kLoading);
  const auto held = table_.Admit({"s", &kOldOwner});
  ASSERT_NE(held.held_at, nullptr);
  auto turn = AwaitTurn(held, Seconds(60));
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_TRUE(turn.get());
  EXPECT_EQ(Ask(&kOldOwner), "admitted");
}

TEST_F(AdmissionHandoverTest, PreparedShardRefusesEverybodyElse) {
  AwaitForwarded();
  const Forwarder stranger{"kv-9", ShardEpoch(5)};
  const Forwarder of_another_time{"kv-1", ShardEpoch(4)};
  EXPECT_EQ(Ask(), meta::kNotOwner);
  EXPECT_EQ(Ask(&stranger), meta::kNotOwner);
  EXPECT_EQ(Ask(&of_another_time), meta::kNotOwner);
  EXPECT_THAT(forwarded_, IsEmpty());
}

TEST_F(AdmissionHandoverTest, OpenForwardedAdmitsTheOldOwnersRequestsOnly) {
  AwaitForwarded();
  const auto held = table_.Admit({"s", &kOldOwner});
  auto turn = AwaitTurn(held, Seconds(60));
  OpenForwarded();
  EXPECT_TRUE(turn.get());
  const Forwarder stranger{"kv-9", ShardEpoch(5)};
  const Forwarder of_another_time{"kv-1", ShardEpoch(4)};
  EXPECT_EQ(Ask(&kOldOwner), "admitted");
  EXPECT_EQ(Ask(), meta::kNotOwner);
  EXPECT_EQ(Ask(&stranger), meta::kNotOwner);
  EXPECT_EQ(Ask(&of_another_time), meta::kNotOwner);
}

TEST_F(AdmissionHandoverTest, ForwardedRequestIsAdmittedUnderTheNewGrant) {
  OpenForwarded();
  const auto admitted = table_.Admit({"s", &kOldOwner});
  ASSERT_NE(admitted.slot, nullptr);
  EXPECT_EQ(admitted.epoch, ShardEpoch(5));
  EXPECT_EQ(admitted.role, Role::kPrimary);
  table_.Close(kShard);
  EXPECT_EQ(drained_, 0);
  EXPECT_EQ(Ask(&kOldOwner), meta::kNotOwner);
  admitted.slot->Release();
  EXPECT_EQ(drained_, 1);
}

TEST_F(AdmissionHandoverTest, AStreamThatWasForwardedIsAdmittedMessageByMessage) {
  const AdmissionTable::Request message{.shard = "s", .own_work = true};
  AwaitForwarded();
  EXPECT_THAT(table_.Admit(message).refusal, StrEq(meta::kNotOwner));
  OpenForwarded();
  const auto admitted = table_.Admit(message);
  ASSERT_NE(admitted.slot, nullptr);
  EXPECT_EQ(admitted.epoch, ShardEpoch(5));
  table_.Close(kShard);
  EXPECT_EQ(drained_, 0);  // it holds up whoever takes the shard away
  EXPECT_THAT(table_.Admit(message).refusal, StrEq(meta::kNotOwner));
  admitted.slot->Release();
  EXPECT_EQ(drained_, 1);
}

TEST_F(AdmissionHandoverTest, F5_ForwardedRequestsNeedTheLeaseToo) {
  OpenForwarded();
  table_.SetLease(MonotonicNow());
  EXPECT_EQ(Ask(&kOldOwner), "held");
  table_.SetLease(TimePoint::min());
  EXPECT_EQ(Ask(&kOldOwner), meta::kLeaseLapsed);
}

TEST_F(AdmissionHandoverTest, OpenAdmitsBothAndDrainsBoth) {
  OpenForwarded();
  const auto forwarded = table_.Admit({"s", &kOldOwner});
  table_.Open(kShard, Role::kPrimary, ShardEpoch(5));
  EXPECT_EQ(Ask(), "admitted");
  EXPECT_EQ(Ask(&kOldOwner), "admitted");
  table_.Close(kShard);
  EXPECT_EQ(Ask(&kOldOwner), meta::kNotOwner);
  EXPECT_EQ(drained_, 0);
  forwarded.slot->Release();
  EXPECT_EQ(drained_, 1);
}

// ---- the race

// Many threads ask while one holds, drops, forwards and opens again. Whoever is admitted is
// admitted under the grant that is open, and never once its drain was reported; nobody
// is refused. (A shard a round, as a report may come late.)
TEST(AdmissionHandoverRaceTest, NoRequestRunsPastTheReportOfADrainAndNoneIsLost) {
  constexpr uint64_t kRounds = 20;
  constexpr uint64_t kAdmissionsPerRound = 50;
  std::array<std::atomic<bool>, kRounds + 2> drained{};  // by round
  AdmissionTable table([&](const ShardId& shard) { drained[std::stoul(shard.value())] = true; });
  table.SetLease(MonotonicNow() + Seconds(3'600));

  std::atomic<uint64_t> round{1};
  std::atomic<uint64_t> admissions{0};
  std::atomic<uint64_t> wrong{0};
  const auto process = [&](uint64_t mine, AdmissionSlot* slot) {
    std::this_thread::yield();
    if (drained[mine]) ++wrong;
    ++admissions;
    slot->Release();
  };
  const auto ask = [&](uint64_t mine) {
    const std::string shard = std::to_string(mine);
    auto admitted = table.Admit({shard});
    while (admitted.held_at != nullptr &&
           table.queue().AwaitTurn(admitted, MonotonicNow() + Seconds(60))) {
      admitted = table.Admit({shard});
    }
    if (admitted.slot != nullptr) return process(mine, admitted.slot);
    const bool sent_on = admitted.forward_to && admitted.forward_to->epoch.value() == mine + 1;
    if (!sent_on) ++wrong;
  };

  std::vector<std::thread> threads;
  table.Open(ShardId("1"), Role::kPrimary, ShardEpoch(1));
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (round <= kRounds) ask(round);
    });
  }
  for (uint64_t r = 1; r <= kRounds; ++r) {
    const ShardId shard(std::to_string(r));
    const uint64_t before = admissions;
    while (admissions < before + kAdmissionsPerRound) std::this_thread::yield();
    table.Hold(shard);
    while (!drained[r]) std::this_thread::yield();
    table.Forward(shard, {"kv-2", "host:1", ShardEpoch(r + 1)});
    table.Open(ShardId(std::to_string(r + 1)), Role::kPrimary, ShardEpoch(r + 1));
    round = r + 1;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

// ---- changes of role

TEST_F(AdmissionHandoverTest, PausedShardHoldsEverythingAndDrains) {
  table_.Open(kShard, Role::kSecondary, ShardEpoch(5));
  table_.Pause(kShard);
  EXPECT_EQ(Ask(), "held");
  EXPECT_EQ(Ask(&kOldOwner, /*for_primary=*/true), "held");
  EXPECT_EQ(drained_, 1);
  table_.Open(kShard, Role::kPrimary, ShardEpoch(6));
  EXPECT_EQ(Ask(&kOldOwner, /*for_primary=*/true), "admitted");
}

TEST_F(AdmissionHandoverTest, SecondaryRefusesWhatIsMeantForThePrimary) {
  table_.Open(kShard, Role::kSecondary, ShardEpoch(5));
  EXPECT_EQ(Ask(nullptr, /*for_primary=*/true), meta::kNotOwner);
  EXPECT_EQ(Ask(), "admitted");
  table_.Close(kShard);
  EXPECT_TRUE(table_.Idle(kShard)) << "what was refused counts as in flight";
}

TEST_F(AdmissionHandoverTest, FormerPrimarySendsOnOnlyWhatIsMeantForThePrimary) {
  table_.Open(kShard, Role::kSecondary, ShardEpoch(6), &kNext);
  EXPECT_EQ(Ask(nullptr, /*for_primary=*/true), "to kv-2");
  EXPECT_EQ(Ask(), "admitted");
  table_.Open(kShard, Role::kPrimary, ShardEpoch(7));
  EXPECT_EQ(Ask(nullptr, /*for_primary=*/true), "admitted");
}

// A secondary's gate lets it in; its role does not. (The process once died of asking the gate again
// and again.)
TEST_F(AdmissionHandoverTest, WhatIsMeantForThePrimaryWaitsAtAGateThatIsBeingClosedOrOpened) {
  table_.OpenForwarded(kShard, Role::kSecondary, ShardEpoch(5), "kv-1");
  const auto held = table_.Admit({"s", &kOldOwner, /*for_primary=*/true});
  ASSERT_NE(held.held_at, nullptr);
  table_.Open(kShard, Role::kPrimary, ShardEpoch(6));
  EXPECT_TRUE(table_.queue().AwaitTurn(held, MonotonicNow() + Seconds(60)));
  EXPECT_EQ(Ask(&kOldOwner, /*for_primary=*/true), "admitted");
}

TEST_F(AdmissionHandoverTest, WhatIsForwardedToTheNextPrimaryWaitsUntilItIsThat) {
  table_.Open(kShard, Role::kSecondary, ShardEpoch(5));
  const auto held = table_.Admit({"s", &kOldOwner, /*for_primary=*/true});
  ASSERT_NE(held.held_at, nullptr);
  auto turn = AwaitTurn(held, Seconds(60));
  table_.Pause(kShard);
  table_.Open(kShard, Role::kPrimary, ShardEpoch(6));
  EXPECT_TRUE(turn.get());
  EXPECT_EQ(Ask(&kOldOwner, /*for_primary=*/true), "admitted");
}

}  // namespace
}  // namespace shardmanager::server
