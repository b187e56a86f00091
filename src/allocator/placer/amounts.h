// Loads and capacities as people write them (any positive numbers) to whole numbers,
// as the solver counts.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "allocator/solver/problem.h"
#include "shardmanager/v1/placer.pb.h"

namespace shardmanager::placer {

class Amounts {
 public:
  // Fills the loads' and capacities' tables of `problem`, whose metrics and numbers of
  // objects and containers are set; `shard_of` by object.
  static absl::Status Fill(const v1::PlacementProblem& message,
                           const std::vector<uint32_t>& shard_of, solver::Problem& problem);

 private:
  using List = google::protobuf::RepeatedPtrField<v1::MetricAmount>;

  explicit Amounts(const v1::PlacementProblem& message);
  absl::Status Check(const List& list, const std::string& path) const;
  void Note(const List& list, std::vector<double>& largest) const;
  void ChooseUnits(const v1::PlacementProblem& message);
  // The row of a list, one for each metric; `absent` where the list says nothing.
  void Row(const List& list, bool round_up, solver::Amount absent,
           std::vector<solver::Amount>& row) const;

  std::unordered_map<std::string, size_t> metric_of_;
  std::vector<double> units_;  // by metric: solver's numbers per one of theirs
};

}  // namespace shardmanager::placer
