// What CollectLoad tells of the requests of a server: by shard, and the keys that are asked for
// most.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "model/traffic/key_spread.h"
#include "model/traffic/space_saving.h"
#include "server/admission_table.h"
#include "shardmanager/v1/shard_server.pb.h"

namespace shardmanager::server {

// Thread-safe. (One request in 64 comes here: a lock does.)
class TrafficReport {
 public:
  // So many keys are counted: a key's count is above the truth by at most a 128th of all requests
  // that were looked at.
  static constexpr size_t kKeysCounted = 128;
  static constexpr size_t kKeysTold = 4;
  // So many shards are told of: those with the most requests, and, of the others, errors.
  static constexpr size_t kBusyShardsTold = 6;
  static constexpr size_t kErringShardsTold = 2;

  // `gates` must outlive this. `now`: when counting begins.
  TrafficReport(AdmissionTable& gates, TimePoint now) : gates_(gates), since_(now) {}

  // A request for the key was admitted, and was marked.
  void Count(std::string_view key, std::string_view shard);

  // Adds what was counted since the last call to the answer, of the shards that are in it.
  void Tell(TimePoint now, v1::CollectLoadResponse& response);

 private:
  void TellShards(v1::CollectLoadResponse& response);
  void TellKeys(v1::CollectLoadResponse& response);

  AdmissionTable& gates_;
  std::mutex mutex_;
  SpaceSaving keys_{kKeysCounted};
  std::array<uint32_t, kHashParts> by_hash_{};
  TimePoint since_;
};

}  // namespace shardmanager::server
