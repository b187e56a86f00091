// The allocator alone: a PlacementProblem in, a plan out, both as messages
// (placer.proto). Pure: who has a deadline brings the clock.
//
//   auto placer = Placer::Make(problem, {});
//   (*placer)->Improve({.budget = {.steps = 1'000'000}});
//   v1::PlaceResponse plan = (*placer)->Answer();
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "allocator/placer/problem_reader.h"
#include "allocator/solver/anytime/improve.h"

namespace shardmanager::placer {

class Placer {
 public:
  // INVALID_ARGUMENT: as Read().
  static absl::StatusOr<std::unique_ptr<Placer>> Make(const v1::PlacementProblem& message,
                                                      const solver::PortfolioOptions& options);

  // Looks for a better plan until the budget is spent, or there is nothing left to look for. Once.
  void Improve(const solver::ImproveOptions& options);
  // The best seen; never worse than what stood.
  v1::PlaceResponse Answer() const;

  uint64_t steps() const { return portfolio_.steps(); }
  const solver::Portfolio& portfolio() const { return portfolio_; }
  const solver::Outcome& outcome() const { return outcome_; }
  const solver::Score& start_score() const { return start_score_; }
  solver::Score best_score() const { return portfolio_.BestScore(); }

 private:
  using Placement = solver::Table<solver::ObjectId, solver::ContainerId>;

  Placer(std::unique_ptr<ReadProblem> read, const v1::PlacementProblem& message,
         const solver::PortfolioOptions& options);
  Placement Best() const;
  void AddShards(const Placement& where, v1::PlaceResponse& answer) const;
  void AddRules(solver::State& before, solver::State& after, v1::PlaceResponse& answer) const;
  void AddMetrics(const solver::State& before, const solver::State& after,
                  v1::PlaceResponse& answer) const;
  const std::string& ShardName(solver::ObjectId o) const;
  std::string ServerName(solver::ContainerId c) const;

  const std::unique_ptr<ReadProblem> read_;
  std::vector<std::string> shards_;  // names
  const solver::Score start_score_;
  solver::Portfolio portfolio_;
  solver::Outcome outcome_;
};

}  // namespace shardmanager::placer
