// What changes would come to: `--dry-run`.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/orchestrator/control/controller_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PreviewTest : public ControllerTest {
 protected:
  PreviewTest() {
    MakeCell();
    RunAll();
    before_ = Stored();
  }
  // Asks what the change would come to, and checks that it is not made.
  template <typename Target, typename Request, typename Response>
  absl::Status Preview(void (Target::*change)(Request, LedThread::Reply<Response>, Wanted),
                       const Request& request) {
    uint64_t cursor = 0;
    const size_t events = events_.Read(&cursor, Duration(0)).size();
    difference_ = std::make_shared<Difference>(Difference::Purpose::kPreview);
    absl::Status answer = absl::UnknownError("no answer");
    (Of(static_cast<Target*>(nullptr)).*change)(
        request, [&answer](const auto& response) { answer = response.status(); },
        Wanted([] { return true; }, difference_));
    RunAll();
    EXPECT_EQ(Stored().DebugString(), before_.DebugString());
    cursor = 0;
    EXPECT_EQ(events_.Read(&cursor, Duration(0)).size(), events) << "nothing was done";
    return answer;
  }

  Operations& Of(Operations*) { return controller_->operations(); }
  Levers& Of(Levers*) { return controller_->levers(); }

  v1::StoredSpec before_;
  std::shared_ptr<Difference> difference_;
};

TEST_F(PreviewTest, OfADrainSaysWhatWouldBeStoredAndWhatItIsAbout) {
  v1::DrainRequest drain;
  drain.mutable_drain()->mutable_scope()->set_server("kv-1");
  EXPECT_EQ(Preview(&Operations::Drain, drain), absl::OkStatus());
  EXPECT_THAT(difference_->lines(), ElementsAre(HasSubstr("+ drains scope { server: \"kv-1\" }")));
  EXPECT_THAT(difference_->consequences(),
              ElementsAre("it is about 0 replicas on 1 server of app \"kv\""));
  drain.mutable_drain()->mutable_scope()->set_server("kv-9");
  EXPECT_EQ(Preview(&Operations::Drain, drain).code(), absl::StatusCode::kNotFound);
}

TEST_F(PreviewTest, OfAPauseAndAPin) {
  v1::PauseAppRequest pause;
  pause.set_app("kv");
  pause.mutable_pause()->set_only_balance(true);
  EXPECT_EQ(Preview(&Operations::PauseApp, pause), absl::OkStatus());
  EXPECT_THAT(difference_->lines(), Contains(HasSubstr("only_balance: true")));
  pause.mutable_pause()->set_failover(true);
  EXPECT_EQ(Preview(&Operations::PauseApp, pause).code(), absl::StatusCode::kInvalidArgument);
  v1::PinShardRequest pin;
  pin.set_app("kv");
  pin.mutable_pin()->set_shard("s-0");
  EXPECT_EQ(Preview(&Operations::PinShard, pin), absl::OkStatus());
  EXPECT_THAT(difference_->lines(), ElementsAre(HasSubstr("+ pins shard: \"s-0\"")));
}

TEST_F(PreviewTest, OfWhatIsTakenBack) {
  v1::ResumeAppRequest resume;
  resume.set_app("kv");
  EXPECT_EQ(Preview(&Operations::ResumeApp, resume).code(), absl::StatusCode::kFailedPrecondition);
  v1::UnpinShardRequest unpin;
  unpin.set_app("kv");
  unpin.set_shard("s-0");
  EXPECT_FALSE(Preview(&Operations::UnpinShard, unpin).ok()) << "it is not pinned";
  v1::UndrainRequest undrain;
  undrain.mutable_scope()->set_server("kv-1");
  EXPECT_FALSE(Preview(&Operations::Undrain, undrain).ok()) << "it is not drained";
}

TEST_F(PreviewTest, OfARetrySaysWhatTheShardWaitsFor) {
  v1::RetryShardRequest retry;
  retry.set_app("kv");
  retry.set_shard("s-0");
  EXPECT_EQ(Preview(&Levers::RetryShard, retry), absl::OkStatus());
  EXPECT_THAT(difference_->lines(), ElementsAre(HasSubstr("is tried again now")));
  EXPECT_THAT(difference_->consequences(), Contains(HasSubstr("now: ")));
}

TEST_F(PreviewTest, OfAMoveAndOfAQuarantineIsRefusedAsTheyAre) {
  v1::MoveShardRequest move;
  move.set_app("kv");
  move.set_shard("s-0");
  EXPECT_EQ(Preview(&Levers::MoveShard, move), absl::InvalidArgumentError("to: REQUIRED"));
  move.set_to("kv-1");
  EXPECT_THAT(std::string(Preview(&Levers::MoveShard, move).message()),
              HasSubstr("server \"kv-1\" is not live"));
  v1::LiftQuarantineRequest lift;
  lift.set_app("kv");
  lift.set_server("kv-1");
  EXPECT_EQ(Preview(&Levers::LiftQuarantine, lift),
            absl::FailedPreconditionError("server \"kv-1\" is not quarantined"));
  lift.set_server("kv-9");
  EXPECT_EQ(Preview(&Levers::LiftQuarantine, lift).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace shardmanager::orchestrator
