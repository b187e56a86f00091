#include "tests/simulation/checks/load_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/restart_checker.h"

namespace shardmanager::simulation {
namespace {

size_t RoomFor(const Cluster& cluster, const std::set<std::string>& drained, size_t most) {
  // What cannot be added, or come into step, holds up the others.
  if (!cluster.lasting.gray.empty() || !cluster.habits.sick.empty()) return 0;
  std::set<std::string> free = cluster.healthy();
  for (const std::string& server : drained) free.erase(server);
  const v1::StoredOperations under_way = OperationsStored(cluster);
  for (const v1::StoredOperation& operation : under_way.operations()) {
    free.erase(operation.server());
  }
  return std::min(free.size(), most);
}

}  // namespace

LoadCheck::LoadCheck(Cluster& cluster, const v1::AppSpec& spec,
                     const std::set<std::string>& drained)
    : cluster_(cluster), spec_(spec) {
  if (spec.has_scaling()) room_ = RoomFor(cluster, drained, spec.scaling().max_replicas());
}

// By the rule of ScalingPolicy in app_spec.proto.
std::string LoadCheck::Wrong(const std::string& shard, size_t replicas) const {
  constexpr double kTolerance = 0.1;  // the default
  constexpr double kNoise = 0.03;     // of reports
  if (!spec_.has_scaling()) return "";
  const double target = spec_.scaling().target();
  const double load = cluster_.loads.Of(shard);
  const auto count = static_cast<double>(replicas);
  const bool too_few = load > count * target * (1 + kTolerance + kNoise);
  const bool too_many = load < (count - 1) * target * (1 - kTolerance - kNoise);
  const bool may_be_more = replicas < room_;
  const bool may_be_fewer = replicas > WantedReplicas(spec_);
  if (!(too_few && may_be_more) && !(too_many && may_be_fewer)) return "";
  return absl::StrCat(shard, " has ", replicas, " replicas for a load of ", load,
                      ", and each is to carry ", target);
}

}  // namespace shardmanager::simulation
