// `shardctl grant`, `revoke`, `whoami`, `can-i` and `get grants`.
#include <gmock/gmock.h>

#include "cli/roles/verbs.h"
#include "security/access.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RolesTest : public ShardctlTest {
 protected:
  RolesTest() { setenv("USER", "jo", /*overwrite=*/1); }
};

TEST_F(RolesTest, GrantsARoleOfSomeApps) {
  EXPECT_EQ(Run({"grant", "operator/alice", "app-owner", "--app", "kv", "-a", "search"}), kOk);
  EXPECT_THAT(admin_.requests(),
              ElementsAre("Grant{identity: \"operator/alice\" role: \"app-owner\" apps: \"kv\" "
                          "apps: \"search\" who: \"jo\"}"));
  EXPECT_EQ(out_, "operator/alice is app-owner of kv, search now\n");
}

TEST_F(RolesTest, SaysThatAGrantChangesNothing) {
  admin_.access.changed = false;
  EXPECT_EQ(Run({"grant", "operator/alice", "viewer"}), kOk);
  EXPECT_EQ(out_, "operator/alice was before: viewer\n");
}

TEST_F(RolesTest, RevokesAllOrSomeOfAGrant) {
  EXPECT_EQ(Run({"revoke", "operator/alice", "viewer"}), kOk);
  EXPECT_EQ(out_, "operator/alice is no viewer any more\n");
  admin_.access.revoked.add_left_apps("kv");
  EXPECT_EQ(Run({"revoke", "operator/alice", "app-owner", "--app", "search"}), kOk);
  EXPECT_EQ(out_, "operator/alice is no app-owner of search any more, but still of kv\n");
}

TEST_F(RolesTest, RefusesRolesThatThereAreNot) {
  EXPECT_EQ(Run({"grant", "operator/alice", "vewer"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("did you mean \"viewer\"?"));
  EXPECT_EQ(Run({"grant", "operator/alice"}), kUsage);
  EXPECT_THAT(admin_.requests(), ElementsAre());
}

TEST_F(RolesTest, ShowsWhoOneIs) {
  admin_.access.who = FromText<v1::WhoAmIResponse>("cell: 'prod' identity: 'operator/alice'");
  EXPECT_EQ(Run({"whoami"}), kOk);
  EXPECT_THAT(out_,
              HasSubstr("none; an admin gives one with `shardctl grant operator/alice ROLE`"));
  admin_.access.who = FromText<v1::WhoAmIResponse>("cell: 'prod' insecure: true");
  EXPECT_EQ(Run({"whoami"}), kOk);
  EXPECT_EQ(out_,
            "nobody knows: cell prod is insecure, so callers have no identity and everybody may do "
            "everything\n");
}

TEST_F(RolesTest, CanISaysYesOrNoWithItsExitCode) {
  admin_.access.can.set_allowed(true);
  EXPECT_EQ(Run({"can-i", "drain", "--app", "kv"}), 0);
  EXPECT_EQ(out_, "yes\n");
  admin_.access.can = FromText<v1::CanIResponse>("reason: 'missing role admin'");
  EXPECT_EQ(Run({"can-i", "grant", "--as", "operator/alice"}), 1);
  EXPECT_EQ(out_, "no: missing role admin\n");
  EXPECT_EQ(err_, "");
  EXPECT_THAT(admin_.requests(),
              ElementsAre("CanI{call: \"Admin.Drain\" app: \"kv\"}",
                          "CanI{call: \"Access.Grant\" identity: \"operator/alice\"}"));
  EXPECT_EQ(Run({"can-i", "explode"}), kUsage);
}

TEST_F(RolesTest, CanIOfAnInsecureCellSaysSo) {
  admin_.access.can = FromText<v1::CanIResponse>("allowed: true insecure: true");
  EXPECT_EQ(Run({"can-i", "drain"}), kOk);
  EXPECT_THAT(out_, HasSubstr("the cell is insecure"));
}

TEST_F(RolesTest, ListsGrantsOfAnIdentityOrAnApp) {
  admin_.access.policy = FromText<v1::GetPolicyResponse>(R"(
      grants { identity: 'operator/alice' role: 'app-owner' apps: 'kv' by: 'admin/root' }
      grants { identity: 'operator/bob' role: 'viewer' by: 'admin/root' })");
  EXPECT_EQ(Run({"get", "grants", "-a", "kv", "-o", "name"}), kOk);
  EXPECT_EQ(out_, "operator/alice\n");
  EXPECT_EQ(Run({"get", "grants", "operator/bob", "-o", "name"}), kOk);
  EXPECT_EQ(out_, "operator/bob\n");
  EXPECT_EQ(Run({"get", "grant", "operator/eve"}), kNotFound);
  EXPECT_THAT(err_, HasSubstr("nothing was granted to \"operator/eve\""));
}

TEST_F(RolesTest, ARefusalIsSaidAsItCame) {
  admin_.refusal = {grpc::StatusCode::PERMISSION_DENIED, "operator/alice may not: missing role"};
  EXPECT_EQ(Run({"grant", "operator/eve", "viewer"}), kRefused);
  EXPECT_EQ(err_, "error: operator/alice may not: missing role\n");
}

TEST(VerbsTest, EachVerbIsACallThatThereIs) {
  for (const std::string& verb : VerbWords()) {
    const std::string call(CallOfVerb(verb));
    const size_t dot = call.find('.');
    ASSERT_NE(dot, std::string::npos) << verb;
    EXPECT_NE(security::RuleOf(call.substr(0, dot), call.substr(dot + 1)), nullptr) << call;
  }
  EXPECT_EQ(CallOfVerb("explode"), "");
  EXPECT_THAT(VerbWords(), Contains("drain"));
}

}  // namespace
}  // namespace shardmanager::cli
