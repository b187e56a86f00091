#include "orchestrator/describe/skew.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"

namespace shardmanager::orchestrator {
namespace {

constexpr size_t kMostKeysShown = 20;

double PartOf(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Example: "60% of", or "1.3 times".
std::string Times(double ratio) {
  return ratio < 1 ? absl::StrFormat("%.0f%% of", 100 * ratio)
                   : absl::StrFormat("%.1f times", ratio);
}

std::string OfAverageServer(const AppTraffic& app, double requests_per_s) {
  return absl::StrCat(Times(PartOf(requests_per_s, app.of_server)),
                      " what a server of the app has on average");
}

}  // namespace

std::string WhyShardIsHot(const PartitionState& state, const AppTraffic& app,
                          const ShardTraffic& shard) {
  const LoadShare load = GreatestLoadShare(state, shard.shard);
  // By the lower limits: why it is hot, whether it has just become so or not.
  const ShardHeat heat = HeatOf(app, shard, load, /*was_hot=*/true);
  std::string why = absl::StrFormat("%.0f requests/s at one server, ", shard.busiest) +
                    OfAverageServer(app, shard.busiest);
  if (heat.by_load) {
    absl::StrAppend(&why, heat.by_requests ? ", and " : "; it carries ",
                    absl::StrFormat("%.0f%% of the ", 100 * load.share),
                    state.loads.metrics[load.metric], " that ", state.tables.name(load.server),
                    " can carry");
  }
  return absl::StrCat(why, ": moves do not help, smaller shards do");
}

std::string WhyKeyIsHot(const AppTraffic& app, const KeyTotal& key) {
  return absl::StrCat("key ", Quoted(key.key),
                      absl::StrFormat(" has %.0f requests/s, ", key.busiest),
                      OfAverageServer(app, key.busiest),
                      ": no move and no smaller shard helps, a cache in front of it or several "
                      "keys do");
}

bool DescribeSkew(const PartitionState& state, v1::AppSkew* skew) {
  if (state.skew.servers.empty()) return false;
  const AppTraffic app = TrafficOf(state);
  skew->set_requests_per_s(app.requests_per_s);
  skew->set_server_requests_per_s(app.of_server);
  double sampled = 0;
  for (const auto& [server, traffic] : state.skew.servers) {
    for (const float count : traffic.by_hash) sampled += count;
  }
  skew->set_keys_sampled(static_cast<uint64_t>(sampled));
  for (const KeyTotal& key : TrafficByKey(state)) {
    if (static_cast<size_t>(skew->keys_size()) == kMostKeysShown) break;
    v1::HotKey& out = *skew->add_keys();
    out.set_key(key.key);
    out.set_shard(state.tables.name(key.shard));
    out.set_requests_per_s(key.requests_per_s);
    out.set_error_per_s(key.error_per_s);
    out.set_share(std::min(1.0, PartOf(key.requests_per_s, app.requests_per_s)));
    out.set_of_server(PartOf(key.busiest, app.of_server));
    out.set_hot(state.skew.hot_keys.contains(key.key));
  }
  const auto& entropies = state.skew.entropies;
  if (!entropies.empty()) {
    if (state.skew.entropy_known) skew->set_entropy_bits(entropies.back().bits);
    const auto [lowest, highest] =
        std::minmax_element(entropies.begin(), entropies.end(),
                            [](const auto& a, const auto& b) { return a.bits < b.bits; });
    skew->set_entropy_lowest_bits(lowest->bits);
    skew->set_entropy_highest_bits(highest->bits);
  }
  skew->set_shards_hot(static_cast<uint32_t>(state.skew.hot_shards.size()));
  return true;
}

bool DescribeTraffic(const PartitionState& state, const AppTraffic& app, ShardIndex shard,
                     v1::ShardTrafficStatus* traffic) {
  const std::optional<ShardTraffic> found = TrafficOfShard(state, shard);
  if (!found) return false;
  traffic->set_requests_per_s(found->requests_per_s);
  traffic->set_errors_per_s(found->errors_per_s);
  traffic->set_p50_ms(found->p50_ms);
  traffic->set_p99_ms(found->p99_ms);
  traffic->set_share(PartOf(found->requests_per_s, app.requests_per_s));
  traffic->set_of_server(PartOf(found->busiest, app.of_server));
  const LoadShare load = GreatestLoadShare(state, shard);
  if (load.server.valid()) {
    traffic->set_of_capacity(load.share);
    traffic->set_metric(state.loads.metrics[load.metric]);
  }
  if (state.skew.hot_shards.contains(shard)) {
    traffic->set_hot(true);
    traffic->set_reason(WhyShardIsHot(state, app, *found));
  }
  return true;
}

}  // namespace shardmanager::orchestrator
