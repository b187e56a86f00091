// Grants: what is taken, what follows from them, and what is left after a revocation.
#include "security/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shardmanager::security {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

v1::RoleGrant Of(const std::string& identity, const std::string& role,
                 const std::vector<std::string>& apps = {}, const std::string& by = "admin/root",
                 int64_t since_ms = 1) {
  v1::RoleGrant grant;
  grant.set_identity(identity);
  grant.set_role(role);
  grant.mutable_apps()->Assign(apps.begin(), apps.end());
  grant.set_by(by);
  grant.set_since_ms(since_ms);
  return grant;
}

class PolicyTest : public ::testing::Test {
 protected:
  absl::Status Grant(const v1::RoleGrant& grant) {
    auto after = WithGrant(policy_, grant, &stored_);
    if (after.ok()) policy_ = *after;
    return after.status();
  }
  absl::Status Revoke(const v1::RoleGrant& grant) {
    auto after = WithoutGrant(policy_, grant, &left_);
    if (after.ok()) policy_ = *after;
    return after.status();
  }
  // Example: {"viewer", "app-owner of kv"}.
  std::vector<std::string> RolesOfPath(const std::string& path) const {
    std::vector<std::string> roles;
    for (const HeldRole& held : RolesOf(*IdentityOfPath("prod", path), policy_)) {
      std::string& role = roles.emplace_back(NameOf(held.role));
      for (const std::string& app : held.apps) absl::StrAppend(&role, " ", app);
    }
    return roles;
  }

  v1::StoredPolicy policy_;
  v1::RoleGrant stored_;
  std::vector<std::string> left_;
};

TEST_F(PolicyTest, AGrantAddsToWhatTheCertificateGives) {
  EXPECT_THAT(RolesOfPath("operator/alice"), IsEmpty());
  ASSERT_TRUE(Grant(Of("operator/alice", "viewer")).ok());
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", {"search", "kv"})).ok());
  ASSERT_TRUE(Grant(Of("client/kv/c-1", "viewer")).ok());
  EXPECT_THAT(RolesOfPath("operator/alice"), ElementsAre("app-owner kv search", "viewer"));
  EXPECT_THAT(RolesOfPath("client/kv/c-1"), ElementsAre("client kv", "viewer"));
  EXPECT_THAT(RolesOfPath("client/kv/c-2"), ElementsAre("client kv"));
  EXPECT_THAT(RolesOfPath("operator/al"), IsEmpty());
  EXPECT_EQ(policy_.grants(0).identity(), "client/kv/c-1") << "ascending";
}

TEST_F(PolicyTest, AppsAreAddedAndARepeatChangesNothing) {
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", {"kv"})).ok());
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", {"search"}, "admin/eve", 2)).ok());
  EXPECT_THAT(stored_.apps(), ElementsAre("kv", "search"));
  EXPECT_EQ(stored_.by(), "admin/eve");
  const std::string before = policy_.SerializeAsString();
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", {"kv"}, "admin/bob", 3)).ok());
  EXPECT_EQ(policy_.SerializeAsString(), before);
  EXPECT_EQ(stored_.since_ms(), 2);
}

TEST_F(PolicyTest, ARevocationLeavesTheRest) {
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", {"kv", "search", "mail"})).ok());
  ASSERT_TRUE(Grant(Of("operator/alice", "viewer")).ok());
  ASSERT_TRUE(Revoke(Of("operator/alice", "app-owner", {"kv"}, "admin/eve", 2)).ok());
  EXPECT_THAT(left_, ElementsAre("mail", "search"));
  EXPECT_THAT(RolesOfPath("operator/alice"), ElementsAre("app-owner mail search", "viewer"));
  EXPECT_EQ(policy_.grants(0).by(), "admin/eve");
  ASSERT_TRUE(Revoke(Of("operator/alice", "app-owner")).ok());
  EXPECT_THAT(left_, IsEmpty());
  EXPECT_THAT(RolesOfPath("operator/alice"), ElementsAre("viewer"));
  ASSERT_TRUE(Revoke(Of("operator/alice", "viewer")).ok());
  EXPECT_THAT(policy_.grants(), IsEmpty());
}

// An app-owner grant without apps would be one of all apps.
TEST_F(PolicyTest, TheLastAppGoesWithItsGrant) {
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", {"kv"})).ok());
  ASSERT_TRUE(Revoke(Of("operator/alice", "app-owner", {"kv"})).ok());
  EXPECT_THAT(policy_.grants(), IsEmpty());
}

TEST_F(PolicyTest, NobodyLosesWhatWasNotGranted) {
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", {"kv"})).ok());
  EXPECT_EQ(Revoke(Of("operator/alice", "viewer")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Revoke(Of("operator/bob", "app-owner")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Revoke(Of("operator/alice", "app-owner", {"mail"})).code(),
            absl::StatusCode::kNotFound);
  const absl::Status admin = Revoke(Of("admin/root", "admin"));
  EXPECT_EQ(admin.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(admin.message()), HasSubstr("nobody is ever locked out"));
}

TEST_F(PolicyTest, RefusesWhatMeansNothingAndNamesTheField) {
  const auto refused = [&](const v1::RoleGrant& grant) {
    const absl::Status status = Grant(grant);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << grant.ShortDebugString();
    return std::string(status.message());
  };
  for (const char* identity : {"", "alice", "operator", "operator/a/b", "operator/\n", "operator/*",
                               "spiffe://prod/operator/alice", "trial/t"}) {
    EXPECT_THAT(refused(Of(identity, "viewer")), StartsWith("identity: found")) << identity;
  }
  for (const char* identity : {"admin/root", "control-plane/sm-1", "relay/r-1"}) {
    EXPECT_THAT(refused(Of(identity, "viewer")), StartsWith("identity: found")) << identity;
  }
  EXPECT_THAT(refused(Of("client/" + std::string(100, 'a') + "/" + std::string(100, 'b') + "/" +
                             std::string(100, 'c'),
                         "viewer")),
              HasSubstr("at most 256 bytes"));
  for (const char* role : {"", "root", "server", "relay", "client", "control-plane"}) {
    EXPECT_THAT(refused(Of("operator/alice", role)), StartsWith("role: found")) << role;
  }
  EXPECT_THAT(refused(Of("operator/alice", "app-owner")), StartsWith("apps: found"));
  EXPECT_THAT(refused(Of("operator/alice", "app-owner", {"K V"})), StartsWith("apps: found"));
  EXPECT_THAT(refused(Of("operator/alice", "viewer", {"kv"})), HasSubstr("app-owner is for named"));
  EXPECT_THAT(policy_.grants(), IsEmpty());
}

TEST_F(PolicyTest, IsBounded) {
  std::vector<std::string> apps;
  for (int i = 0; i < kMostAppsOfGrant; ++i) apps.push_back(absl::StrCat("app-", i));
  ASSERT_TRUE(Grant(Of("operator/alice", "app-owner", apps)).ok());
  EXPECT_EQ(Grant(Of("operator/alice", "app-owner", {"more"})).code(),
            absl::StatusCode::kInvalidArgument);
  for (int i = 1; i < kMostGrants; ++i) {
    ASSERT_TRUE(Grant(Of(absl::StrCat("operator/o-", i), "viewer")).ok());
  }
  EXPECT_EQ(Grant(Of("operator/late", "viewer")).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Grant(Of("operator/o-1", "viewer")).ok()) << "it has it";
}

TEST_F(PolicyTest, WhatANewerBuildGrantsGivesNothing) {
  *policy_.add_grants() = Of("operator/alice", "auditor");
  *policy_.add_grants() = Of("operator/alice", "control-plane");
  *policy_.add_grants() = Of("operator/alice", "app-owner");
  EXPECT_THAT(RolesOfPath("operator/alice"), IsEmpty());
  EXPECT_THAT(GrantsOf(*IdentityOfPath("prod", "operator/alice"), policy_), IsEmpty());
}

TEST_F(PolicyTest, PeopleSeeWhatTheyHaveAndFromWhom) {
  ASSERT_TRUE(Grant(Of("server/kv/kv-1", "viewer", {}, "admin/root", 7)).ok());
  const auto grants = GrantsOf(*IdentityOfPath("prod", "server/kv/kv-1"), policy_);
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[0].role(), "server");
  EXPECT_THAT(grants[0].apps(), ElementsAre("kv"));
  EXPECT_EQ(grants[0].by(), "");
  EXPECT_EQ(grants[1].role(), "viewer");
  EXPECT_EQ(grants[1].by(), "admin/root");
  EXPECT_EQ(grants[1].since_ms(), 7);
}

}  // namespace
}  // namespace shardmanager::security
