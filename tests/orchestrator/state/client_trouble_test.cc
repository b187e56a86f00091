#include "orchestrator/state/client_trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Seen = ClientTrouble::Seen;

constexpr TimePoint At(int64_t s) { return TimePoint(Seconds(s)); }

Seen Complaints(uint32_t server, uint32_t in_trouble, uint32_t well = 0) {
  return {ServerIndex(server), in_trouble, well, "did not answer"};
}

class ClientTroubleTest : public ::testing::Test {
 protected:
  static constexpr size_t kLive = 20;  // so two may be shunned

  // Every ten seconds, as clients report.
  ClientTrouble::Verdicts HearUntil(int64_t end_s, const std::vector<Seen>& seen,
                                    size_t live = kLive) {
    ClientTrouble::Verdicts last;
    for (; now_s_ <= end_s; now_s_ += 10) last = trouble_.Hear(At(now_s_), seen, live);
    return last;
  }
  bool IsShunned(uint32_t server) const { return trouble_.IsShunned(ServerIndex(server)); }

  ClientTrouble trouble_;
  int64_t now_s_ = 0;
};

TEST_F(ClientTroubleTest, WhoManyCannotUseForLongIsShunned) {
  EXPECT_THAT(HearUntil(10, {Complaints(1, 3)}).shun, IsEmpty());
  EXPECT_THAT(HearUntil(20, {Complaints(1, 3)}).shun, ElementsAre(ServerIndex(1)));
  EXPECT_TRUE(IsShunned(1));
  EXPECT_THAT(HearUntil(30, {Complaints(1, 3)}).shun, IsEmpty()) << "once is enough";
}

TEST_F(ClientTroubleTest, FewOrFewerThanCanUseItAreNotEnough) {
  HearUntil(100, {Complaints(1, 2), Complaints(2, 50, 50), Complaints(3, 50, 51)});
  EXPECT_EQ(trouble_.shunned(), 0u);
}

TEST_F(ClientTroubleTest, APauseInTheComplaintsBeginsTheTimeAnew) {
  HearUntil(10, {Complaints(1, 5)});
  HearUntil(20, {});
  HearUntil(40, {Complaints(1, 5)});
  EXPECT_FALSE(IsShunned(1));
  HearUntil(50, {Complaints(1, 5)});
  EXPECT_TRUE(IsShunned(1));
}

// F17: what many clients see may be their own network.
TEST_F(ClientTroubleTest, F17_WhenTooManyAreComplainedOfNobodyIsShunned) {
  const auto verdicts = HearUntil(100, {Complaints(1, 9), Complaints(2, 9), Complaints(3, 9)});
  EXPECT_TRUE(verdicts.too_many);
  EXPECT_EQ(trouble_.shunned(), 0u);
  EXPECT_TRUE(trouble_.too_many());
  HearUntil(110, {Complaints(1, 9), Complaints(2, 9)});
  EXPECT_EQ(trouble_.shunned(), 2u) << "a tenth of the live servers";
  EXPECT_FALSE(trouble_.too_many());
}

TEST_F(ClientTroubleTest, ThoseThatAreShunnedCountAmongThoseThatMayBe) {
  HearUntil(20, {Complaints(1, 9), Complaints(2, 9)});
  ASSERT_EQ(trouble_.shunned(), 2u);
  EXPECT_TRUE(HearUntil(60, {Complaints(3, 9)}).too_many);
  EXPECT_FALSE(IsShunned(3));
}

TEST_F(ClientTroubleTest, OfFewServersOneMayBeShunned) {
  HearUntil(20, {Complaints(1, 9)}, 3);
  EXPECT_TRUE(IsShunned(1));
}

TEST_F(ClientTroubleTest, ItIsTriedAgainAtGrowingIntervals) {
  const std::vector<Seen> bad = {Complaints(1, 9)};
  HearUntil(20, bad);
  ASSERT_TRUE(IsShunned(1));
  HearUntil(310, {});
  EXPECT_TRUE(IsShunned(1)) << "nobody asks it, so nobody complains";
  EXPECT_THAT(HearUntil(320, {}).try_again, ElementsAre(ServerIndex(1)));
  EXPECT_FALSE(IsShunned(1));
  HearUntil(350, bad);
  EXPECT_TRUE(IsShunned(1));
  HearUntil(940, {});
  EXPECT_TRUE(IsShunned(1)) << "twice as long";
  HearUntil(950, {});
  EXPECT_FALSE(IsShunned(1));
}

TEST_F(ClientTroubleTest, ANewProcessIsTriedAtOnceAndShunnedForLongerNextTime) {
  const std::vector<Seen> bad = {Complaints(1, 9)};
  HearUntil(20, bad);
  EXPECT_TRUE(trouble_.Restarted(ServerIndex(1)));
  EXPECT_FALSE(IsShunned(1));
  EXPECT_FALSE(trouble_.Restarted(ServerIndex(1)));
  HearUntil(40, bad);
  EXPECT_FALSE(IsShunned(1)) << "what was said of its former life does not count";
  HearUntil(50, bad);
  ASSERT_TRUE(IsShunned(1));
  HearUntil(640, {});
  EXPECT_TRUE(IsShunned(1));
  HearUntil(650, {});
  EXPECT_FALSE(IsShunned(1));
}

TEST_F(ClientTroubleTest, WhatIsKnownOfACaseIsForPeople) {
  HearUntil(20, {Complaints(1, 9, 4)});
  const ClientTrouble::Case* found = trouble_.Find(ServerIndex(1));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->in_trouble, 9u);
  EXPECT_EQ(found->well, 4u);
  EXPECT_EQ(found->problem, "did not answer");
  EXPECT_EQ(trouble_.Find(ServerIndex(2)), nullptr);
}

}  // namespace
}  // namespace shardmanager::orchestrator
