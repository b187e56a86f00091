#include "orchestrator/lead_lease.h"

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
  lease.Renewed(At(2), kTerms);
  const TimePoint end = At(2) + LeaseLength(kTerms.timeout, kTerms.tick);
  EXPECT_TRUE(lease.Holds(end - Milliseconds(1)));
  EXPECT_FALSE(lease.Holds(end));
  EXPECT_EQ(lease.SilentFor(At(7)), Seconds(5));
}

TEST(LeadLeaseTest, OneThatHasLapsedGoesOnWithTheNextRenewal) {
  LeadLease lease;
  lease.Renewed(At(2), kTerms);
  ASSERT_FALSE(lease.Holds(At(60)));
  lease.Renewed(At(60), kTerms);
  EXPECT_TRUE(lease.Holds(At(61)));
}

}  // namespace
}  // namespace shardmanager::orchestrator
