#include "coordination/access/secure_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordination/cell.h"
#include "coordination/paths.h"
#include "tests/coordination/access/access_test.h"

namespace shardmanager {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Result = absl::StatusOr<SecureReport>;

template <typename Harness>
class SecureCellTest : public AccessTest<Harness> {
 protected:
  using Session = typename AccessTest<Harness>::Session;

  // Of the time before there were credentials.
  void MakeOpenCell(const Session& control) {
    ASSERT_TRUE(this->Ensure(control).ok());
    std::vector<WriteOp> ops = {CreateNode{kPaths.app(kKv), ""}, CreateNode{kPaths.spec(kKv), ""}};
    for (const std::string& folder :
         {kPaths.servers(kKv), kPaths.live(kKv), kPaths.assignments(kKv)}) {
      ops.push_back(CreateNode{folder, ""});
      ops.push_back(CreateNode{Paths::bucket(folder, 0), ""});
    }
    ops.push_back(CreateNode{kPaths.assignment(kKv, ServerName("kv-1"), kBuckets), ""});
    ops.push_back(CreateNode{kPaths.server(kKv, ServerName("kv-1"), kBuckets), ""});
    ASSERT_TRUE(this->Write(control, ops).status.ok());
  }
  std::string Live(const StoreAccess* access) {
    const ServerName name("kv-1");
    LiveName live{name, Incarnation(1)};
    if (access != nullptr) live.proof = access->ProofOf(kKv, name, Incarnation(1));
    return kPaths.live(kKv, live, kBuckets);
  }

  Result Secure(const Session& session, SecureAction action, bool only_newest = false) {
    Answer<Result> answer(this->harness);
    SecureCell(*session, {.cell = "c", .action = action, .only_newest = only_newest},
               answer.callback());
    return this->Wait(answer);
  }
};
TYPED_TEST_SUITE(SecureCellTest, Harnesses, HarnessNames);

TYPED_TEST(SecureCellTest, ClosesAnOpenCellAndOpensItAgain) {
  auto old = this->As(nullptr);
  this->MakeOpenCell(old);
  auto control = this->As(ControlPlane());
  auto server = this->As(OneServer("kv-1"));
  ASSERT_TRUE(this->Load(server).ok());
  const std::string live = this->Live(server->access());
  ASSERT_TRUE(this->Write(server, {CreateNode{live, "", true}}).status.ok());
  ASSERT_TRUE(this->Write(control, {CreateNode{kPaths.leader_holder(), "", true}}).status.ok());
  EXPECT_TRUE(this->Get(old, live).ok());

  const Result before = this->Secure(control, SecureAction::kLook);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->security, CellSecurity::kOpen);
  EXPECT_EQ(before->nodes, 17u);
  EXPECT_EQ(before->open, 17u);
  EXPECT_THAT(before->without_credentials, IsEmpty());

  const Result closed = this->Secure(control, SecureAction::kClose);
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_EQ(closed->security, CellSecurity::kSecure);
  EXPECT_EQ(closed->changed, 17u);
  EXPECT_EQ(closed->differing, 0u);
  EXPECT_EQ(this->Get(old, live).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(this->Load(old).status().code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(this->Get(server, live).ok());
  EXPECT_EQ(this->Load(server)->security(), v1::CELL_SECURE);

  // Again: nothing is left to do.
  const Result again = this->Secure(control, SecureAction::kClose);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->changed, 0u);

  const Result opened = this->Secure(control, SecureAction::kOpen);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->security, CellSecurity::kOpen);
  EXPECT_TRUE(this->Get(old, live).ok());
  EXPECT_TRUE(this->Load(old).ok());
}

TYPED_TEST(SecureCellTest, ShutsNobodyOut) {
  auto old = this->As(nullptr);
  this->MakeOpenCell(old);
  ASSERT_TRUE(this->Write(old, {CreateNode{kPaths.leader_holder(), "", true},
                                CreateNode{this->Live(nullptr), "", true}})
                  .status.ok());
  auto control = this->As(ControlPlane());
  const Result refused = this->Secure(control, SecureAction::kClose);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("server kv-1 of app kv (life 1)"),
                    HasSubstr("the shardmanagerd that leads"), HasSubstr("Restart them")));
  EXPECT_EQ(this->Load(old)->security(), v1::CELL_OPEN);
  EXPECT_EQ(this->Secure(control, SecureAction::kLook)->changed, 0u);
}

// It was stopped in the middle, or somebody made a node without credentials meanwhile.
TYPED_TEST(SecureCellTest, MendsWhatIsOpenInASecureCell) {
  auto control = this->As(ControlPlane());
  this->MakeOpenCell(control);  // secure, as it has credentials
  const std::string path = kPaths.assignment(kKv, ServerName("kv-1"), kBuckets);
  Answer<absl::Status> opened(this->harness);
  control->SetAccess(path, OpenToAnyone(), opened.callback());
  ASSERT_TRUE(this->Wait(opened).ok());
  const Result looked = this->Secure(control, SecureAction::kLook);
  EXPECT_EQ(looked->security, CellSecurity::kSecure);
  EXPECT_EQ(looked->open, 1u);
  EXPECT_THAT(looked->differing_paths, ElementsAre(path));
  EXPECT_EQ(this->Secure(control, SecureAction::kClose)->changed, 1u);
  EXPECT_EQ(this->Secure(control, SecureAction::kLook)->open, 0u);
}

// A server that was taken over made it, where it may make live nodes.
TYPED_TEST(SecureCellTest, IsNotKeptFromItsWorkByNodesThatShutItOut) {
  auto control = this->As(ControlPlane());
  this->MakeOpenCell(control);
  auto thief = this->As(OneServer("kv-1"));
  ASSERT_TRUE(this->Load(thief).ok());
  const std::string junk = Paths::bucket(kPaths.live(kKv), 0) + "/junk";
  const AccessList mine = {{DigestOf(thief->access()->logins().back()), kAllRights}};
  ASSERT_TRUE(this->Write(thief, {CreateNode{junk, "", false, mine}}).status.ok());
  for (const SecureAction action : {SecureAction::kLook, SecureAction::kClose}) {
    const Result result = this->Secure(control, action);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->denied, 1u);
    EXPECT_THAT(result->denied_paths, ElementsAre(junk));
    EXPECT_EQ(result->differing, 0u);
  }
  EXPECT_TRUE(this->Write(control, {DeleteNode{junk}}).status.ok());
}

TYPED_TEST(SecureCellTest, NamesACellThatIsNotThere) {
  auto control = this->As(ControlPlane());
  const Result result = this->Secure(control, SecureAction::kClose);
  EXPECT_EQ(result.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("no cell \"c\""));
}

// From one secret to the next: both, then the new one alone. A server that has only the old one
// keeps the old secret in force; what a thief makes does not.
TYPED_TEST(SecureCellTest, ReplacesASecret) {
  Credentials both = NewCellCredentials("c");
  both.secrets.push_back(CellOfTests().secrets[0]);
  Credentials renewed = both;
  renewed.secrets.pop_back();
  auto control = this->As(ControlPlane());
  this->MakeOpenCell(control);
  auto server = this->As(OneServer("kv-1"));
  ASSERT_TRUE(this->Load(server).ok());
  ASSERT_TRUE(
      this->Write(server, {CreateNode{this->Live(server->access()), "", true}}).status.ok());

  auto with_both = this->As(ControlPlane(both));
  ASSERT_TRUE(this->Secure(with_both, SecureAction::kClose).ok());
  const Result early = this->Secure(with_both, SecureAction::kClose, /*only_newest=*/true);
  EXPECT_EQ(early.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(early.status().message()), HasSubstr("server kv-1 of app kv"));

  server->Close();
  auto restarted = this->As(OneServer("kv-1", kKv, both));
  ASSERT_TRUE(this->Load(restarted).ok());
  ASSERT_TRUE(
      this->Write(restarted, {CreateNode{this->Live(restarted->access()), "", true}}).status.ok());
  auto thief = this->As(OneServer("kv-2"));
  ASSERT_TRUE(this->Load(thief).ok());
  const std::string forged = Paths::bucket(kPaths.live(kKv), 0) + "/kv-1@99";
  ASSERT_TRUE(this->Write(thief, {CreateNode{forged, "", true}}).status.ok());
  const Result done = this->Secure(with_both, SecureAction::kClose, /*only_newest=*/true);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(this->Load(thief).status().code(), StatusCode::kPermissionDenied);
  auto with_new = this->As(ControlPlane(renewed));
  EXPECT_TRUE(this->Load(with_new).ok());
  EXPECT_EQ(this->Load(control).status().code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(this->Load(restarted).ok());
}

}  // namespace
}  // namespace shardmanager
