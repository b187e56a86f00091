#include "orchestrator/decide/keys/reshape_orders.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "model/keys/reshape.h"
#include "model/text.h"
#include "orchestrator/decide/keys/replacements.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

using google::protobuf::util::MessageDifferencer;

// Under way at a time, of one app.
constexpr int kMostReshapes = 100;

// Why no shard of the app can be replaced.
std::string WhyNone(const PartitionState& state) {
  if (Mirrors(state)) return "it decides itself where its shards are";
  if (state.replication.quorum) {
    return "replication.quorum is set: what most members have acknowledged is in the application's "
           "own logs, which the control plane cannot cut";
  }
  if (MovesNothing(state)) return "it is paused: resume it first";
  return "";
}

// Nobody serves the old shards, under whatever name: whoever has the new ones says that it serves
// them. Until then servers have to be told what those were made of.
bool IsDone(const PartitionState& state, const Replacement& r) {
  return r.over && std::all_of(r.to.begin(), r.to.end(), [&](ShardIndex id) {
           bool all = state.tables.shard(id).first.valid();  // else it comes somewhere yet
           state.tables.ForEach(
               id, [&](ReplicaIndex, const Replica& replica) { all &= Serves(state, replica); });
           return all;
         });
}

absl::Status MayReplace(const PartitionState& state, const v1::Shard& shard) {
  const ShardIndex id = state.tables.FindShard(shard.id());
  const std::string name = Quoted(shard.id());
  if (!id.valid()) return absl::OkStatus();
  if (state.tables.shard(id).pinned) {
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", name, " is pinned: unpin it first"));
  }
  for (const Replacement& r : state.replacements) {
    if (std::find(r.to.begin(), r.to.end(), id) == r.to.end() || IsDone(state, r)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", name, " is being made: ", ReshapeText(r.reshape)));
  }
  return absl::OkStatus();
}

// One that went may be held yet.
absl::Status IsNewName(const PartitionState& state, const v1::Shard& shard) {
  const ShardIndex id = state.tables.FindShard(shard.id());
  if (!id.valid() || !state.tables.shard(id).first.valid()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "into: found ", Quoted(shard.id()), ", which servers still hold; allowed: an unused id"));
}

}  // namespace

absl::StatusOr<v1::Reshape> PlanReshape(const PartitionState& state, const v1::StoredSpec& stored,
                                        const v1::ReshapeShardsRequest& request) {
  if (const std::string why = WhyNone(state); !why.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("app ", Quoted(request.app()), ": ", why));
  }
  const auto reshape = MakeReshape(stored.spec(), request);
  if (!reshape.ok()) return reshape;
  for (const v1::Shard& shard : reshape->from()) {
    if (absl::Status may = MayReplace(state, shard); !may.ok()) return may;
  }
  for (const v1::Shard& shard : reshape->to()) {
    if (absl::Status is_new = IsNewName(state, shard); !is_new.ok()) return is_new;
  }
  return reshape;
}

absl::Status PutReshape(const PartitionState& state, const v1::Reshape& reshape,
                        v1::StoredSpec& stored) {
  auto& reshapes = *stored.mutable_reshapes();
  const auto is_done = [&](const v1::Reshape& other) {
    return std::none_of(state.replacements.begin(), state.replacements.end(),
                        [&](const Replacement& r) {
                          return !IsDone(state, r) && MessageDifferencer::Equals(r.reshape, other);
                        });
  };
  reshapes.erase(std::remove_if(reshapes.begin(), reshapes.end(), is_done), reshapes.end());
  if (reshapes.size() >= kMostReshapes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMostReshapes,
                     " splits and merges of the app are under way, which is the "
                     "most: wait until some are done"));
  }
  *stored.mutable_spec() = WithReshape(stored.spec(), reshape);
  *reshapes.Add() = reshape;
  return absl::OkStatus();
}

}  // namespace shardmanager::orchestrator
