// What the leader shows to operators, against what clients would meet at the same instant: never
// green where a client would say red.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/time.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager::simulation {

// Servers that would admit a request now, and as what; by shard.
using Admitting = std::map<std::string, std::map<std::string, Role>>;

// The leader hears of the world by messages, so what it says may be out of date for a while. What
// one leader has said for longer than `patience`, whenever it was asked, must be so.
class ShownChecker {
 public:
  struct Moment {
    TimePoint now;
    int32_t leader;  // the epoch of the one that answers
    Duration patience;
    const v1::AppSpec& spec;
    const Admitting& admitting;
  };
  // Each returns what has been shown too long although it is not so; empty: nothing.
  std::string LookAtShards(const Moment& moment, const v1::GetShardsResponse& shown);
  std::string LookAtApp(const Moment& moment, const v1::AppStatus& shown);
  // What is wrong in the cell. (An alarm for nothing is no lie: a leader that does not reach a
  // server cannot know that it serves.)
  std::string LookAtStatus(const Moment& moment, const v1::GetStatusResponse& shown);

 private:
  using Claims = std::map<std::string, TimePoint>;  // and since when
  void ForgetOtherLeaders(const Moment& moment);
  // How many shards nobody has served for longer than `patience`.
  size_t UnservedForLong(const Moment& moment);
  static std::string Keep(const Moment& moment, Claims& claims, const std::set<std::string>& found);

  int32_t leader_ = -1;
  TimePoint answered_{};  // last
  Claims of_shards_;      // that are false
  Claims of_app_;         // likewise
  Claims of_status_;      // likewise
  Claims unserved_;       // shards that nobody serves
};

}  // namespace shardmanager::simulation
