// Which granted time-outs leases can work with.
#include "model/session_terms.h"

#include <string>

#include "gmock/gmock.h"

namespace shardmanager {
namespace {

using ::testing::HasSubstr;

constexpr SessionTerms kDefault{.timeout = Seconds(10), .tick = Seconds(2)};

std::string Said(const absl::Status& status) {
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

TEST(SessionTermsTest, AcceptsWhatWasAskedFor) {
  EXPECT_TRUE(CheckGranted(kDefault, Seconds(10)).ok());
}

// ZooKeeper with a tickTime of 200 ms and no maxSessionTimeout.
TEST(SessionTermsTest, RefusesAShorterSessionAndSaysWhatToSet) {
  EXPECT_THAT(Said(CheckGranted(kDefault, Seconds(4))),
              AllOf(HasSubstr("sessions of 10000 ms and was granted 4000 ms"),
                    HasSubstr("a lease would last -40 ms"), HasSubstr("maxSessionTimeout"),
                    HasSubstr("--session-timeout-ms"), HasSubstr("--zookeeper-tick-ms")));
}

TEST(SessionTermsTest, RefusesAShorterSessionEvenIfALeaseFitsIn) {
  Said(CheckGranted({.timeout = Seconds(10), .tick = Milliseconds(200)}, Seconds(4)));
}

TEST(SessionTermsTest, RefusesALongerSession) {
  EXPECT_THAT(Said(CheckGranted({.timeout = Seconds(2), .tick = Milliseconds(200)}, Seconds(4))),
              HasSubstr("minSessionTimeout (2 x tickTime unless it is set) is 4000 ms"));
}

TEST(SessionTermsTest, RefusesALeaseThatLapsesBetweenTwoRenewals) {
  const SessionTerms three_ticks{.timeout = Seconds(6), .tick = Seconds(2)};
  EXPECT_THAT(Said(CheckGranted(three_ticks, three_ticks.timeout)),
              HasSubstr("a lease would last 1940 ms"));
}

// What shardmanagerd lets through when a cell is made.
TEST(SessionTermsTest, AcceptsFourTicks) {
  for (const int64_t tick_ms : {50, 200, 2'000, 60'000}) {
    const SessionTerms terms{.timeout = Milliseconds(4 * tick_ms), .tick = Milliseconds(tick_ms)};
    EXPECT_TRUE(CheckGranted(terms, terms.timeout).ok()) << tick_ms;
  }
}

TEST(SessionTermsTest, ShortestSessionBetraysALargerTick) {
  EXPECT_TRUE(CheckTick(Milliseconds(200), Milliseconds(400)).ok());
  EXPECT_THAT(Said(CheckTick(Milliseconds(200), Seconds(4))),
              AllOf(HasSubstr("its tickTime is 2000 ms, not the 200 ms of the cell"),
                    HasSubstr("--min-session-timeout-is-set")));
}

}  // namespace
}  // namespace shardmanager
