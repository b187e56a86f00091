#include "tests/taskcontroller/selection/problems.h"

#include <algorithm>

namespace shardmanager::taskcontroller {
namespace {

constexpr uint32_t kRegions = 3;
constexpr uint32_t kRacks = 4;  // of small problems

}  // namespace

Problem Draw(const RandomProblem& sizes, Random& random) {
  std::vector<uint32_t> room;
  for (uint32_t s = 0; s < sizes.shards; ++s) {
    room.push_back(static_cast<uint32_t>(random.Below(sizes.most_room + 1)));
  }
  Problem problem(std::move(room), sizes.most);
  for (uint32_t i = 0; i < sizes.candidates; ++i) {
    std::vector<ShardIndex> shards;
    const uint64_t count = random.Below(sizes.most_shards_each + 1);
    for (uint64_t n = 0; n < count; ++n) {
      const ShardIndex shard(random.Below(sizes.shards));
      if (std::find(shards.begin(), shards.end(), shard) == shards.end()) shards.push_back(shard);
    }
    const auto rack = static_cast<uint32_t>(random.Below(kRacks));
    problem.Add({.domain = {.region = rack / 2, .datacenter = rack / 2, .rack = rack},
                 .urgent = i < sizes.urgent,
                 .reserves = random.Below(2) == 0},
                shards);
  }
  return problem;
}

bool Fits(const Problem& problem, const std::vector<CandidateIndex>& chosen) {
  if (chosen.size() > problem.most()) return false;
  std::vector<uint32_t> taken(problem.shard_count(), 0);
  for (const CandidateIndex id : chosen) {
    for (const ShardIndex shard : problem.shards(id)) {
      if (++taken[shard.index()] > problem.room(shard)) return false;
    }
  }
  return true;
}

uint32_t LargestByBruteForce(const Problem& problem) {
  uint32_t largest = 0;
  for (uint32_t bits = 0; bits < 1U << problem.size(); ++bits) {
    std::vector<CandidateIndex> chosen;
    for (const CandidateIndex id : problem.candidates()) {
      if ((bits >> id.index() & 1) != 0) chosen.push_back(id);
    }
    if (chosen.size() > largest && Fits(problem, chosen)) {
      largest = static_cast<uint32_t>(chosen.size());
    }
  }
  return largest;
}

Problem SpreadOverRegions(uint32_t servers, uint32_t shards, uint32_t most, Random& random) {
  std::vector<std::vector<ShardIndex>> held(servers);
  for (uint32_t s = 0; s < shards; ++s) {
    for (uint32_t region = 0; region < kRegions; ++region) {
      held[random.Below(servers / kRegions) * kRegions + region].push_back(ShardIndex(s));
    }
  }
  Problem problem(std::vector<uint32_t>(shards, 1), most);
  for (uint32_t i = 0; i < servers; ++i) {
    const uint32_t region = i % kRegions;
    const uint32_t rack = i / kRegions / 20 * kRegions + region;
    problem.Add({.domain = {.region = region, .datacenter = region, .rack = rack}}, held[i]);
  }
  return problem;
}

}  // namespace shardmanager::taskcontroller
