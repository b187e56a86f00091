// What an app's replication strategy implies: the one place that reads it.
#pragma once

#include "shardmanager/types.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

// To add a strategy, say here what it implies; see "Add a replication strategy" in CONTRIBUTING.md.
struct ReplicationRules {
  bool primaries = false;    // each shard has a replica that is the primary
  bool secondaries = false;  // there are replicas that are not
  // A majority of a shard's members decides what is acknowledged. The members then know what they
  // have acknowledged when their processes are restarted, and neither the primary nor the members
  // change without a majority.
  bool quorum = false;
  // A move prepares the new primary and forwards to it before the old one lets go.
  bool handover = false;

  // The primary of a shard brings its secondaries into step, and one of them can succeed it.
  bool both_roles() const { return primaries && secondaries; }
  bool Has(Role role) const { return role == Role::kPrimary ? primaries : secondaries; }
  // Of a replica that joins others, or replaces one. Where both roles exist, it may be promoted
  // later on.
  Role RoleToAdd() const { return secondaries ? Role::kSecondary : Role::kPrimary; }

  friend bool operator==(const ReplicationRules&, const ReplicationRules&) = default;
};

// `spec` is valid.
inline ReplicationRules RulesOf(const v1::AppSpec& spec) {
  const v1::ReplicationStrategy strategy = spec.replication().strategy();
  ReplicationRules rules;
  rules.primaries = strategy != v1::SECONDARY_ONLY;
  rules.secondaries = strategy != v1::PRIMARY_ONLY;
  rules.quorum = spec.replication().quorum();
  rules.handover = !rules.secondaries && spec.moves().primary_move() != v1::DROP_THEN_ADD;
  return rules;
}

}  // namespace shardmanager
