// What a spec may say of replicas that follow their requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/spec/spec_validation.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Problems(const std::string& more) { return ProblemsOf(SpecWith(more)); }

TEST(DemandPolicyTest, TakesThatReplicasFollowTheirRequests) {
  EXPECT_THAT(Problems("placement { follow_demand {} }"), IsEmpty());
  EXPECT_THAT(Problems("placement { follow_demand { mode: RECOMMEND after_ms: 1000 } "
                       "            preferred_region: 'a' }"),
              IsEmpty());
}

TEST(DemandPolicyTest, RefusesToFollowRequestsOutOfRangeOrBesideReplicasOfRegions) {
  EXPECT_THAT(Problems("placement { follow_demand { after_ms: 999 } "
                       "            region_replicas { region: 'a' replicas: 1 } }"),
              ElementsAre("placement.follow_demand: found a value, with placement.region_replicas; "
                          "allowed: one of the two: both say where replicas are to stand",
                          "placement.follow_demand.after_ms: found 999; allowed: 1000 to 86400000, "
                          "or 0: the default"));
  v1::AppSpec unknown = SpecWith("");
  unknown.mutable_placement()->mutable_follow_demand()->set_mode(
      static_cast<v1::DemandPolicy::Mode>(9));
  EXPECT_THAT(ProblemsOf(unknown),
              ElementsAre(HasSubstr("placement.follow_demand.mode: found 9; allowed: ")));
}

}  // namespace
}  // namespace shardmanager
