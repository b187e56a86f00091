// The rules of a PlacementProblem, and those that hold when it names none, as specs.
#pragma once

#include "absl/status/status.h"
#include "allocator/solver/model.h"
#include "shardmanager/v1/placer.pb.h"

namespace shardmanager::placer {

// REQUIRES: the model's problem was read from `message`, shards as groups.
absl::Status AddRules(const v1::PlacementProblem& message, solver::Model& model);

}  // namespace shardmanager::placer
