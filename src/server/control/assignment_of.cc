#include "server/control/assignment_of.h"

#include <map>
#include <string_view>

namespace shardmanager::server {
namespace {

// Of the shards that are being made, by their names.
std::map<std::string_view, ShardOrigin> OriginsOf(const v1::StoredSpec& spec) {
  std::map<std::string_view, ShardOrigin> origins;
  for (const v1::Reshape& reshape : spec.reshapes()) {
    ShardOrigin origin;
    origin.hash_keys = reshape.hash_keys();
    for (const v1::Shard& from : reshape.from()) origin.made_of.emplace_back(from.id());
    for (const v1::Shard& to : reshape.to()) {
      origin.start = to.range().start();
      origin.end = to.range().end();
      origins.insert_or_assign(to.id(), origin);
    }
  }
  return origins;
}

}  // namespace

Assigned AssignmentOf(const v1::AssignmentRecord& record, const v1::StoredSpec& spec) {
  const std::map<std::string_view, ShardOrigin> origins = OriginsOf(spec);
  Assigned assigned;
  for (const v1::AssignedReplica& r : record.replicas()) {
    const bool demoting = r.phase() == v1::DEMOTING;
    if (r.phase() != v1::GRANTED && r.phase() != v1::PREPARING && !demoting) continue;
    auto& grants = r.phase() == v1::PREPARING ? assigned.preparing : assigned.grants;
    const bool primary = r.role() == v1::PRIMARY && !demoting;
    Grant& grant = grants.emplace_back();
    grant.shard = ShardId(r.shard());
    grant.role = primary ? Role::kPrimary : Role::kSecondary;
    grant.epoch = ShardEpoch(r.epoch());
    if (const auto made = origins.find(r.shard()); made != origins.end()) {
      grant.origin = made->second;
    }
  }
  return assigned;
}

}  // namespace shardmanager::server
