// Whether shards have as many replicas as their loads need, at rest.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "shardmanager/v1/app_spec.pb.h"
#include "tests/simulation/cell/cluster.h"

namespace shardmanager::simulation {

class LoadCheck {
 public:
  LoadCheck(Cluster& cluster, const v1::AppSpec& spec, const std::set<std::string>& drained);

  // What is wrong with so many serving replicas of the shard; empty: nothing.
  std::string Wrong(const std::string& shard, size_t replicas) const;

 private:
  Cluster& cluster_;
  const v1::AppSpec& spec_;
  size_t room_ = 0;  // for so many replicas of one shard
};

}  // namespace shardmanager::simulation
