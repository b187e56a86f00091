#include "server/traffic/traffic_report.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/request_metadata.h"

namespace shardmanager::server {
namespace {

struct Counted {
  const std::string* shard;
  ShardCounts::Told told;
};

void Fill(const Counted& counted, v1::ShardTraffic& traffic) {
  const ShardCounts::Told& told = counted.told;
  traffic.set_shard(*counted.shard);
  traffic.set_requests(told.requests);
  // What failed may have been admitted before the last answer.
  traffic.set_errors(std::min(told.errors, told.requests));
  size_t classes = told.times.size();
  while (classes > 0 && told.times[classes - 1] == 0) --classes;
  for (size_t i = 0; i < classes; ++i) traffic.add_times(told.times[i]);
}

// Moves the `count` first ones by `before` from [begin, end) to its front; returns the end of them.
template <typename Iterator, typename Before>
Iterator Front(Iterator begin, Iterator end, size_t count, Before before) {
  const auto middle =
      begin + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count), end - begin);
  std::nth_element(begin, middle, end, before);
  return middle;
}

}  // namespace

void TrafficReport::Count(std::string_view key, std::string_view shard) {
  if (key.empty() || key.size() > request_metadata::kLongestNamedKey) return;
  const size_t part = HashPartOf(key);
  std::lock_guard lock(mutex_);
  keys_.Add(key, shard);
  ++by_hash_[part];
}

void TrafficReport::Tell(TimePoint now, v1::CollectLoadResponse& response) {
  std::lock_guard lock(mutex_);
  using std::chrono::milliseconds;
  const auto counted = std::chrono::duration_cast<milliseconds>(now - since_).count();
  response.set_counted_ms(static_cast<uint64_t>(std::max<int64_t>(counted, 0)));
  since_ = now;
  TellShards(response);
  if (keys_.total() > 0) TellKeys(response);
}

void TrafficReport::TellShards(v1::CollectLoadResponse& response) {
  uint64_t requests = 0;
  std::vector<Counted> all;
  for (const v1::HeldShard& shard : response.shards()) {
    AdmissionSlot* slot = gates_.Find(shard.shard());
    if (slot == nullptr) continue;
    Counted counted{&shard.shard(), slot->counts().Take()};
    if (counted.told.requests == 0) continue;
    requests += counted.told.requests;
    all.push_back(std::move(counted));
  }
  response.set_requests(requests);
  const auto busy =
      Front(all.begin(), all.end(), kBusyShardsTold,
            [](const auto& a, const auto& b) { return a.told.requests > b.told.requests; });
  const auto erring = Front(busy, all.end(), kErringShardsTold, [](const auto& a, const auto& b) {
    return a.told.errors > b.told.errors;
  });
  for (auto counted = all.begin(); counted != erring; ++counted) {
    if (counted < busy || counted->told.errors > 0) Fill(*counted, *response.add_traffic());
  }
}

void TrafficReport::TellKeys(v1::CollectLoadResponse& response) {
  v1::KeySample& sample = *response.mutable_keys();
  sample.set_requests(keys_.total());
  sample.set_one_in(static_cast<uint32_t>(request_metadata::kOneInNamesKey));
  for (SpaceSaving::Entry& entry : keys_.Top(kKeysTold)) {
    v1::FrequentKey& key = *sample.add_top();
    key.set_key(std::move(entry.key));
    key.set_shard(std::move(entry.shard));
    key.set_count(entry.count);
    key.set_error(entry.error);
  }
  sample.mutable_by_hash()->Assign(by_hash_.begin(), by_hash_.end());
  keys_.Clear();
  by_hash_.fill(0);
}

}  // namespace shardmanager::server
