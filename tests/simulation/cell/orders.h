// What the lives of servers were commanded about shards, and when.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "server/grant.h"

namespace shardmanager::simulation {

class Orders {
 public:
  // A command has come.
  void Begin(const std::string& endpoint, const std::vector<server::Grant>& grants) {
    for (const server::Grant& grant : grants) ++orders_[{endpoint, grant.shard.value()}].under_way;
  }
  // It was refused; or carried out, in vain perhaps.
  void Refuse(const std::string& endpoint, const std::vector<server::Grant>& grants) {
    for (const server::Grant& grant : grants) --orders_[{endpoint, grant.shard.value()}].under_way;
  }
  void End(const std::string& endpoint, const std::vector<server::Grant>& grants, TimePoint now) {
    Refuse(endpoint, grants);
    for (const server::Grant& grant : grants) orders_[{endpoint, grant.shard.value()}].ended = now;
  }

  // Nothing was carried out since then, nor is now.
  bool QuietSince(TimePoint since, const std::string& endpoint, const std::string& shard) const {
    const auto order = orders_.find({endpoint, shard});
    return order == orders_.end() || (order->second.under_way == 0 && order->second.ended < since);
  }

 private:
  struct Order {
    int under_way = 0;
    TimePoint ended = TimePoint::min();
  };
  std::map<std::pair<std::string, std::string>, Order> orders_;  // by endpoint, shard
};

}  // namespace shardmanager::simulation
