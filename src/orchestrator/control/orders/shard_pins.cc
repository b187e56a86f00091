#include "orchestrator/control/orders/shard_pins.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/pause.h"
#include "model/text.h"
#include "orchestrator/decide/supply.h"

namespace shardmanager::orchestrator {
namespace {

bool HasShard(const PartitionState& state, const std::string& shard) {
  const ShardIndex id = state.tables.FindShard(shard);
  return id.valid() && state.tables.shard(id).map_index != Shard::kNotInMap;
}

// Where the pin of that shard is, or belongs.
auto Place(const std::string& shard, v1::StoredSpec& stored) {
  auto& pins = *stored.mutable_pins();
  return std::lower_bound(
      pins.begin(), pins.end(), shard,
      [](const v1::Pin& pin, const std::string& name) { return pin.shard() < name; });
}

bool IsPinned(const std::string& shard, v1::StoredSpec& stored) {
  const auto place = Place(shard, stored);
  return place != stored.mutable_pins()->end() && place->shard() == shard;
}

}  // namespace

const v1::Pin* FindPin(const std::string& shard, const v1::StoredSpec& stored) {
  for (const v1::Pin& pin : stored.pins()) {
    if (pin.shard() == shard) return &pin;
  }
  return nullptr;
}

absl::Status PutPin(const PartitionState& state, const v1::Pin& pin, v1::StoredSpec& stored) {
  if (!HasShard(state, pin.shard())) {
    return absl::NotFoundError(
        absl::StrCat("app ", Quoted(stored.spec().name()), " has no shard ", Quoted(pin.shard())));
  }
  auto& pins = *stored.mutable_pins();
  // (An app that decides itself where its shards are may leave one out of a map.)
  const auto has_gone = [&](const v1::Pin& other) {
    return !Mirrors(state) && !HasShard(state, other.shard());
  };
  pins.erase(std::remove_if(pins.begin(), pins.end(), has_gone), pins.end());
  if (IsPinned(pin.shard(), stored)) {
    v1::Pin& before = *Place(pin.shard(), stored);
    const int64_t since_ms = before.since_ms();
    before = pin;
    before.set_since_ms(since_ms);
    return absl::OkStatus();
  }
  if (pins.size() >= kMostPins) {
    return absl::ResourceExhaustedError(
        absl::StrCat("app ", Quoted(stored.spec().name()), " has ", kMostPins,
                     " pinned shards, which is the most: unpin one, or pause the app"));
  }
  const auto place = static_cast<int>(Place(pin.shard(), stored) - pins.begin());
  *pins.Add() = pin;
  std::rotate(pins.begin() + place, pins.end() - 1, pins.end());
  return absl::OkStatus();
}

absl::Status TakeOutPin(const std::string& shard, v1::StoredSpec& stored) {
  if (!IsPinned(shard, stored)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "shard ", Quoted(shard), " of app ", Quoted(stored.spec().name()), " is not pinned"));
  }
  stored.mutable_pins()->erase(Place(shard, stored));
  return absl::OkStatus();
}

}  // namespace shardmanager::orchestrator
