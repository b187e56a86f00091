#include "orchestrator/control/lead_lease.h"

#include <gtest/gtest.h>

namespace shardmanager::orchestrator {
namespace {

constexpr SessionTerms kTerms{Seconds(10), Seconds(1)};
constexpr TimePoint At(int seconds) { return TimePoint() + Seconds(seconds); }

TEST(LeadLeaseTest, AProcessThatHasJustBegunHasNone) {
  LeadLease lease;
  lease.Begin(At(5));
  EXPECT_FALSE(lease.Holds(At(5)));
  EXPECT_EQ(lease.SilentFor(At(8)), Seconds(3));
}

TEST(LeadLeaseTest, EndsBeforeTheSessionCanCountedFromTheMomentOfSending) {
  LeadLease lease;
  lease.Begin(At(0));
  lease.NewSession(At(1));
  EXPECT_TRUE(lease.Renewed(At(2), At(2), kTerms));
  const TimePoint end = At(2) + LeaseLength(kTerms.timeout, kTerms.tick);
  EXPECT_TRUE(lease.Holds(end - Milliseconds(1)));
  EXPECT_FALSE(lease.Holds(end));
  EXPECT_EQ(lease.SilentFor(At(7)), Seconds(5));
}

TEST(LeadLeaseTest, OneThatHasLapsedGoesOnWithTheNextRenewal) {
  LeadLease lease;
  lease.NewSession(At(2));
  lease.Renewed(At(2), At(2), kTerms);
  ASSERT_FALSE(lease.Holds(At(60)));
  lease.Renewed(At(60), At(60), kTerms);
  lease.Renewed(At(61), At(61), kTerms);
  EXPECT_TRUE(lease.Holds(At(62)));
}

// The process is paused for 7 s, its first renewal after that is answered, and its follower is cut
// off before it answers the next ping: the store's leader has heard of the session at 0 s and half
// a tick at the latest.
TEST(LeadLeaseTest, TheFirstRenewalAfterAPauseCountsOnlyOnceTheNextOneHasProvedIt) {
  LeadLease lease;
  lease.NewSession(At(0));
  ASSERT_TRUE(lease.Renewed(At(0), At(0), kTerms));
  EXPECT_FALSE(lease.Renewed(At(7), At(7), kTerms));
  EXPECT_FALSE(lease.Holds(At(10))) << "the session may have ended";
  EXPECT_TRUE(lease.Renewed(At(8), At(8), kTerms));
  EXPECT_TRUE(lease.Holds(At(15)));
}

// Another session's proof says nothing of this one, but that it was asked for later.
TEST(LeadLeaseTest, ANewSessionIsAsOldAsItsRequest) {
  LeadLease lease;
  lease.NewSession(At(0));
  lease.Renewed(At(0), At(0), kTerms);
  lease.NewSession(At(20));
  EXPECT_TRUE(lease.Renewed(At(21), At(21), kTerms));
  EXPECT_TRUE(lease.Holds(At(28)));
}

}  // namespace
}  // namespace shardmanager::orchestrator
