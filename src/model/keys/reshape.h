// Which shards take the place of which, when one is split or several are merged. Pure.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

// Of one order.
inline constexpr int kMostReshaped = 16;

// What the request asks of the spec. NOT_FOUND: the app has no such shard. INVALID_ARGUMENT: names
// the field, what was found and what is allowed. FAILED_PRECONDITION: its shards have no ranges.
// REQUIRES: the spec is valid.
absl::StatusOr<v1::Reshape> MakeReshape(const v1::AppSpec& spec,
                                        const v1::ReshapeShardsRequest& request);

// The spec with `reshape.to` in the place of `reshape.from`, and all shards named one by one.
// REQUIRES: it has all of `from`, and none of `to`.
v1::AppSpec WithReshape(const v1::AppSpec& spec, const v1::Reshape& reshape);

// The reshape that takes it back.
v1::Reshape Undone(const v1::Reshape& reshape);

// Has the spec all shards of `to`, with these keys?
bool HasShardsOf(const v1::AppSpec& spec, const v1::Reshape& reshape);

// For people: "users-3 into users-3.0, users-3.1".
std::string ReshapeText(const v1::Reshape& reshape);

}  // namespace shardmanager
