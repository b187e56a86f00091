// The challenge in terms of the generic solver: machines are containers, processes
// objects, services groups, locations and neighborhoods scopes; each rule of the
// challenge is a spec. Nothing in the solver knows of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "allocator/roadef/instance.h"
#include "allocator/solver/model.h"
#include "allocator/solver/score.h"

namespace shardmanager::roadef {

class Challenge {
 public:
  using Placement = solver::Table<solver::ObjectId, solver::ContainerId>;

  // INVALID_ARGUMENT: the instance's numbers do not fit together.
  static absl::StatusOr<std::unique_ptr<Challenge>> Make(const Instance& instance);

  const solver::Problem& problem() const { return problem_; }
  const solver::Model& model() const { return *model_; }

  // The challenge's objective. Exact up to 2^53.
  static double CostOf(const solver::Score& score) { return score[solver::kFirstGoalLevel]; }
  // The machine of each process, in the assignment file's format.
  std::string ToText(const Placement& where) const;

 private:
  explicit Challenge(const Instance& instance);
  void AddMachines(const Instance& instance);
  void AddProcesses(const Instance& instance);
  absl::Status AddConstraints(const Instance& instance);
  absl::Status AddGoals(const Instance& instance);
  absl::Status AddMoveCosts(const Instance& instance);

  solver::Problem problem_;
  std::unique_ptr<solver::Model> model_;
  std::vector<uint32_t> process_of_;         // by object
  std::vector<solver::ObjectId> object_of_;  // by process
};

}  // namespace shardmanager::roadef
