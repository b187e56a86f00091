// The allocator alone: a PlacementProblem in, a plan out, both as messages
// (placer.proto). Pure: who has a deadline calls in small pieces and looks at a clock in
// between.
//
//   auto placer = Placer::Make(problem, {});
//   (*placer)->Descend();
//   while (time is left) (*placer)->Anneal(steps, part that is over, part after it);
//   v1::PlaceResponse plan = (*placer)->Answer();
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "allocator/placer/problem_reader.h"
#include "allocator/solver/search.h"

namespace shardmanager::placer {

struct PlacerOptions {
  uint64_t seed = 1;
  // Of Descend(). About a million of them are a second.
  uint64_t step_budget = 20'000'000;
};

class Placer {
 public:
  // INVALID_ARGUMENT: as Read().
  static absl::StatusOr<std::unique_ptr<Placer>> Make(const v1::PlacementProblem& message,
                                                      const PlacerOptions& options);

  // To a plan that no single step improves, or out of steps.
  void Descend();
  // On from there. `progress` of the whole time is over before, `progress_after` after it:
  // 0 to 1.
  void Anneal(uint64_t steps, double progress, double progress_after);
  // True: there is nothing that costs anything, so nothing to look for.
  bool Perfect() const;
  // The best seen; never worse than what stood.
  v1::PlaceResponse Answer() const;

  uint64_t steps() const { return search_.steps(); }
  const solver::Score& start_score() const { return start_score_; }
  solver::Score best_score() const { return search_.BestScore(); }

 private:
  using Placement = solver::Table<solver::ObjectId, solver::ContainerId>;

  Placer(std::unique_ptr<ReadProblem> read, const v1::PlacementProblem& message,
         const PlacerOptions& options);
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
  solver::Search search_;
  bool finished_ = false;
};

}  // namespace shardmanager::placer
