// What servers report of where their requests come from.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/server/forwarding/forwarding_fixture.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class RequestsByRegionTest : public ForwardingTest {
 protected:
  void CountFrom(CounterServer& at, const std::string& region) {
    Call call(at);
    call.context.AddMetadata(request_metadata::kRegion, region);
    (void)Count(at, call);
  }
  std::map<std::string, uint64_t> Reported(CounterServer& server) {
    const auto report = server.commander().Collect();
    if (!report.ok()) return {{std::string(report.status().message()), 0}};
    std::map<std::string, uint64_t> by_region;
    for (const v1::HeldShard& shard : report->shards()) {
      for (const auto& [region, count] : shard.requests_by_region()) by_region[region] += count;
    }
    return by_region;
  }
};

INSTANTIATE_TEST_SUITE_P(Forms, RequestsByRegionTest,
                         ::testing::Values(Form::kBlocking, Form::kCallback), NameOf);

TEST_P(RequestsByRegionTest, AreReportedOnce) {
  ServeAtOld();
  CountFrom(old_, "eu");
  CountFrom(old_, "us");
  CountFrom(old_, "eu");
  Call unmarked(old_);
  ASSERT_TRUE(Count(old_, unmarked).ok());
  EXPECT_THAT(Reported(old_), ElementsAre(Pair("eu", 2), Pair("us", 1)));
  EXPECT_THAT(Reported(old_), IsEmpty());
}

TEST_P(RequestsByRegionTest, CountWhereTheyAreAdmittedAndNowhereElse) {
  CountFrom(old_, "eu");  // refused: nobody serves the shard
  HandOver();
  CountFrom(old_, "us");  // sent on
  EXPECT_THAT(Reported(old_), IsEmpty());
  EXPECT_THAT(Reported(new_), ElementsAre(Pair("us", 1)));
}

}  // namespace
}  // namespace shardmanager
