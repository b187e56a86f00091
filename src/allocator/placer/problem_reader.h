// A PlacementProblem (placer.proto) as a problem and a model of the solver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "allocator/solver/model.h"
#include "shardmanager/v1/placer.pb.h"

namespace shardmanager::placer {

struct ReadProblem {
  solver::Problem problem;
  std::unique_ptr<solver::Model> model;
  std::vector<uint32_t> shard_of;  // by object: its place in the message
};

// INVALID_ARGUMENT: the path of the field ("shards[3].load[0].amount"), what was found
// and what is allowed. At a constant address: the model points to the problem.
absl::StatusOr<std::unique_ptr<ReadProblem>> Read(const v1::PlacementProblem& message);

}  // namespace shardmanager::placer
