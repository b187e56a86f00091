#include "model/replication_rules.h"

#include <gtest/gtest.h>

namespace shardmanager {
namespace {

ReplicationRules Of(v1::ReplicationStrategy strategy) {
  v1::AppSpec spec;
  spec.mutable_replication()->set_strategy(strategy);
  return RulesOf(spec);
}

TEST(ReplicationRulesTest, PrimariesAloneAreHandedOver) {
  const ReplicationRules rules = Of(v1::PRIMARY_ONLY);
  EXPECT_TRUE(rules.Has(Role::kPrimary));
  EXPECT_FALSE(rules.Has(Role::kSecondary));
  EXPECT_TRUE(rules.handover);
  EXPECT_EQ(rules.RoleToAdd(), Role::kPrimary);
}

TEST(ReplicationRulesTest, UnlessTheSpecAsksForDropThenAdd) {
  v1::AppSpec spec;
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
  EXPECT_FALSE(RulesOf(spec).handover);
}

TEST(ReplicationRulesTest, SecondariesAloneHaveNoPrimary) {
  const ReplicationRules rules = Of(v1::SECONDARY_ONLY);
  EXPECT_FALSE(rules.Has(Role::kPrimary));
  EXPECT_FALSE(rules.both_roles());
  EXPECT_FALSE(rules.handover);
  EXPECT_EQ(rules.RoleToAdd(), Role::kSecondary);
}

TEST(ReplicationRulesTest, WhereBothRolesExistANewReplicaIsASecondary) {
  const ReplicationRules rules = Of(v1::PRIMARY_SECONDARY);
  EXPECT_TRUE(rules.both_roles());
  EXPECT_FALSE(rules.handover) << "another server takes the role over";
  EXPECT_EQ(rules.RoleToAdd(), Role::kSecondary);
}

}  // namespace
}  // namespace shardmanager
