// `shardctl pause app` and `shardctl resume app`.
#include <cstdlib>

#include "gmock/gmock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PauseCommandTest : public ShardctlTest {};

TEST_F(PauseCommandTest, PausesWithAReasonAndSaysWhatHoldsThen) {
  EXPECT_EQ(Run({"pause", "app", "kv", "--reason", "network work"}), kOk);
  EXPECT_THAT(admin_.requests(),
              ElementsAre(StartsWith("PauseApp{app: \"kv\" pause { reason: \"network work\"")));
  EXPECT_THAT(out_,
              HasSubstr("kv is paused: nothing is moved, and no operation begins; what is lost "
                        "stays lost\n"));
}

TEST_F(PauseCommandTest, FailoverIsAllowedOnlyIfItIsSaid) {
  EXPECT_EQ(Run({"pause", "app", "kv", "--failover"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre(StartsWith("PauseApp{app: \"kv\" pause { failover: "
                                                        "true")));
  EXPECT_THAT(out_, HasSubstr("what is lost is failed over"));
}

TEST_F(PauseCommandTest, ResumesAndSaysWhoAsks) {
  setenv("USER", "jo", /*overwrite=*/1);
  EXPECT_EQ(Run({"resume", "app", "kv"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre("ResumeApp{app: \"kv\" who: \"jo\"}"));
  EXPECT_EQ(out_, "kv goes on\n");
}

}  // namespace
}  // namespace shardmanager::cli
