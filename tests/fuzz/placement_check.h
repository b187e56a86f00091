// A problem of the Data Placer, solved in little time, and its answer judged. Shared by
// the two ways in which such a problem comes.
#pragma once

#include <string>

#include "absl/container/flat_hash_set.h"
#include "allocator/placer/placer.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::fuzz {

// Larger ones are for benchmarks.
inline bool IsSmall(const v1::PlacementProblem& problem) {
  uint64_t replicas = 0;
  for (const v1::PlacerShard& shard : problem.shards()) {
    replicas += shard.replicas() + static_cast<uint64_t>(shard.servers_size());
  }
  return replicas < 200 && problem.servers_size() < 60;
}

inline void CheckAnswer(const v1::PlacementProblem& problem, const v1::PlaceResponse& answer) {
  absl::flat_hash_set<std::string> names;
  for (const v1::PlacerServer& server : problem.servers()) names.insert(server.name());
  SM_CHECK(answer.shards_size() == problem.shards_size(), "every shard is answered");
  bool all_placed = true;
  for (int i = 0; i < problem.shards_size(); ++i) {
    SM_CHECK(answer.shards(i).shard() == problem.shards(i).name(), "in the problem's order");
    for (const std::string& server : answer.shards(i).servers()) {
      SM_CHECK(server.empty() || names.contains(server), "replicas stand on known servers");
      all_placed &= !server.empty();
    }
  }
  SM_CHECK(!answer.feasible() || all_placed, "feasible means that everything is placed");
}

inline void SolveAndCheck(const v1::PlacementProblem& problem) {
  if (!IsSmall(problem)) return;
  auto made = placer::Placer::Make(problem, {.seed = 1});
  if (!made.ok()) {
    SM_CHECK(!made.status().message().empty(), "an error says what is wrong");
    return;
  }
  placer::Placer& placer = **made;
  const auto not_worse = [&] { return !placer.start_score().BetterThan(placer.best_score()); };
  placer.Improve({.budget = {.steps = 2'000}});
  SM_CHECK(not_worse(), "a search never ends worse than it began");
  CheckAnswer(problem, placer.Answer());
}

}  // namespace shardmanager::fuzz
