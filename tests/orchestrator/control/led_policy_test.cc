// Grants as the leader keeps them: stored before they hold, and by the leader alone.
#include "orchestrator/control/led_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/orchestrator/control/controller_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::GrantRequest GrantOf(const std::string& identity, const std::string& role) {
  v1::GrantRequest request;
  request.set_identity(identity);
  request.set_role(role);
  request.set_who("admin/root");
  return request;
}

class LedPolicyTest : public ControllerTest {
 protected:
  absl::StatusOr<v1::GrantResponse> Grant(const v1::GrantRequest& request, Wanted wanted = {}) {
    absl::StatusOr<v1::GrantResponse> answer = absl::UnknownError("no answer");
    controller_->policy().Grant(
        request, [&answer](const auto& response) { answer = response; }, wanted);
    RunAll();
    return answer;
  }
  absl::StatusOr<v1::RevokeResponse> Revoke(const std::string& identity, const std::string& role) {
    v1::RevokeRequest request;
    request.set_identity(identity);
    request.set_role(role);
    absl::StatusOr<v1::RevokeResponse> answer = absl::UnknownError("no answer");
    controller_->policy().Revoke(request, [&answer](const auto& response) { answer = response; });
    RunAll();
    return answer;
  }
  absl::StatusCode KnownCode() const { return controller_->policy().Known().status().code(); }
  // As Known() has it. REQUIRES: it is known.
  v1::StoredPolicy Known() const { return **controller_->policy().Known(); }
  v1::StoredPolicy StoredPolicy() {
    v1::StoredPolicy policy;
    others_->Get(kPaths.policy(), [&policy](const absl::StatusOr<Node>& node) {
      if (!node.ok()) return;
      EXPECT_TRUE(Open(node->data, &policy).ok());
    });
    ensemble_.RunUntilIdle();
    return policy;
  }
};

TEST_F(LedPolicyTest, ACellThatKnowsNoPolicyHasAnEmptyOne) {
  EXPECT_EQ(KnownCode(), absl::StatusCode::kFailedPrecondition) << "it does not lead yet";
  MakeCell();
  RunAll();
  ASSERT_EQ(KnownCode(), absl::StatusCode::kOk);
  EXPECT_EQ(Known().grants_size(), 0);
}

TEST_F(LedPolicyTest, AGrantIsStoredAndSaysWhoGaveItAndWhen) {
  MakeCell();
  RunAll();
  const auto granted = Grant(GrantOf("operator/alice", "viewer"));
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_TRUE(granted->changed());
  ASSERT_EQ(StoredPolicy().grants_size(), 1);
  EXPECT_EQ(StoredPolicy().grants(0).by(), "admin/root");
  EXPECT_EQ(StoredPolicy().grants(0).since_ms(), now_ms_);
  EXPECT_EQ(Known().grants_size(), 1);
  const auto again = Grant(GrantOf("operator/alice", "viewer"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->changed());
  ASSERT_TRUE(Grant(GrantOf("operator/bob", "admin")).ok()) << "the record is there";
  ASSERT_TRUE(Revoke("operator/alice", "viewer").ok());
  ASSERT_EQ(StoredPolicy().grants_size(), 1);
  EXPECT_EQ(StoredPolicy().grants(0).identity(), "operator/bob");
  EXPECT_EQ(Revoke("operator/alice", "viewer").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LedPolicyTest, ANewLeaderKnowsWhatWasGranted) {
  MakeCell();
  v1::StoredPolicy policy;
  policy.add_grants()->set_identity("operator/alice");
  policy.mutable_grants(0)->set_role("viewer");
  Write({CreateNode{kPaths.policy(), Seal(policy)}});
  RunAll();
  ASSERT_EQ(KnownCode(), absl::StatusCode::kOk);
  EXPECT_EQ(Known().SerializeAsString(), policy.SerializeAsString());
}

TEST_F(LedPolicyTest, OneThatWasDeposedGrantsNothing) {
  MakeCell();
  RunAll();
  Write({SetNode{kPaths.leader_epoch(), ""}});  // another one was elected
  EXPECT_EQ(Grant(GrantOf("operator/alice", "admin")).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(StoredPolicy().grants_size(), 0);
  EXPECT_EQ(Known().grants_size(), 0) << "what is not stored does not hold";
}

TEST_F(LedPolicyTest, OneThatHasLostItsLeadKnowsNothing) {
  MakeCell();
  RunAll();
  ASSERT_EQ(KnownCode(), absl::StatusCode::kOk);
  ensemble_.Expire(session_);
  control_->RunOne();
  ensemble_.RunUntilIdle();
  control_->RunOne();
  EXPECT_EQ(KnownCode(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LedPolicyTest, WrongGrantsAreRefusedAndNothingIsWritten) {
  MakeCell();
  RunAll();
  EXPECT_EQ(Grant(GrantOf("alice", "viewer")).status().code(), absl::StatusCode::kInvalidArgument);
  v1::GrantRequest request = GrantOf("operator/alice", "viewer");
  request.set_who(std::string(201, 'x'));
  EXPECT_EQ(Grant(request).status(),
            absl::InvalidArgumentError("who: found 201 bytes; allowed: at most 200"));
  EXPECT_EQ(Grant(GrantOf("operator/alice", "viewer"), [] { return false; }).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(StoredPolicy().grants_size(), 0);
}

// An unreadable record must give nobody anything, and be no excuse to forget what is in it.
TEST_F(LedPolicyTest, ARecordThatCannotBeReadGivesNothingAndIsNotOverwritten) {
  MakeCell();
  Write({CreateNode{kPaths.policy(), "not a record"}});
  RunAll();
  ASSERT_TRUE(controller_->leads()) << "it works on";
  const absl::Status known = controller_->policy().Known().status();
  EXPECT_EQ(known.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(known.message()), StartsWith("nothing counts as granted: the record "
                                                       "/cell/policy cannot be read"));
  EXPECT_EQ(CountOf("PolicyUnreadable"), 1u);
  EXPECT_EQ(Grant(GrantOf("operator/alice", "admin")).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(LedPolicyTest, SaysThatNobodyKnowsWhetherALostWriteHappened) {
  MakeCell();
  RunAll();
  absl::Status answer = absl::UnknownError("no answer");
  controller_->policy().Grant(GrantOf("operator/alice", "viewer"),
                              [&answer](const auto& response) { answer = response.status(); });
  control_->Run();  // it is sent
  ensemble_.Disconnect(session_);
  control_->Run();
  ensemble_.Reconnect(session_);
  RunAll();
  EXPECT_EQ(answer.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer.message()), HasSubstr("whether the change happened is unknown"));
  EXPECT_EQ(Known().SerializeAsString(), StoredPolicy().SerializeAsString()) << "it was read again";
}

}  // namespace
}  // namespace shardmanager::orchestrator
