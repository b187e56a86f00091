#include "orchestrator/core/load/skew_book.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "model/traffic/request_times.h"
#include "orchestrator/describe/skew.h"

namespace shardmanager::orchestrator {
namespace {

// A key whose rate has fallen below this is not asked for any more.
constexpr float kRests = 0.01F;
// A server that has told nothing for so many collections is not counted any more.
constexpr int kSilentCollections = 3;

float Half(float a, float b) { return (a + b) / 2; }

float InMs(Duration time) { return static_cast<float>(InSeconds(time) * 1'000); }

double PerSecond(uint64_t count, const CountedTraffic& counted) {
  return static_cast<double>(count) / InSeconds(counted.counted_for);
}

ReplicaTraffic AsCounted(ShardIndex shard, const RequestCount& count,
                         const CountedTraffic& counted) {
  ReplicaTraffic traffic{.shard = shard};
  traffic.requests_per_s = static_cast<float>(PerSecond(count.requests, counted));
  traffic.errors_per_s = static_cast<float>(PerSecond(count.errors, counted));
  RequestTimes times{};
  std::copy_n(count.times.begin(), std::min(count.times.size(), times.size()), times.begin());
  traffic.p50_ms = InMs(QuantileOf(times, 0.5));
  traffic.p99_ms = InMs(QuantileOf(times, 0.99));
  return traffic;
}

// The newest report has as much weight as all those before.
void Blend(const ReplicaTraffic& before, ReplicaTraffic& now) {
  now.requests_per_s = Half(now.requests_per_s, before.requests_per_s);
  now.errors_per_s = Half(now.errors_per_s, before.errors_per_s);
  if (now.p99_ms > 0) return;
  now.p50_ms = before.p50_ms;  // none was timed
  now.p99_ms = before.p99_ms;
}

bool IsBefore(const ReplicaTraffic& a, const ReplicaTraffic& b) { return a.shard < b.shard; }

template <typename Id>
struct Cooled {
  size_t count = 0;
  Id first = {};
};
// Those that were hot, and are not now.
template <typename Id>
Cooled<Id> CooledOf(const std::set<Id>& before, const std::set<Id>& now) {
  Cooled<Id> cooled;
  for (const Id& id : before) {
    if (!now.contains(id) && cooled.count++ == 0) cooled.first = id;
  }
  return cooled;
}

std::string AndMore(size_t others, const std::string& noun) {
  return others == 0 ? "" : absl::StrCat("; ", Counted(others, "more " + noun), " likewise");
}

}  // namespace

Duration SkewBook::Interval() const {
  return Milliseconds(state_.spec.moves().collect_interval_ms());
}

void SkewBook::SetTimer() {
  if (!std::exchange(timer_is_set_, true)) agenda_.SetTimer(Interval(), TimerKind::kSkew);
}

void SkewBook::Record(const ServerReport& report) {
  const CountedTraffic& counted = report.traffic;
  const auto found = state_.skew.servers.find(report.server);
  const bool first = found == state_.skew.servers.end();
  // A server that rests costs nothing. One whose library is too old tells no time, either.
  if (counted.counted_for <= Duration(0) || (first && counted.requests == 0)) return;
  ServerTraffic& server = first ? state_.skew.servers[report.server] : found->second;
  const double now = PerSecond(counted.requests, counted);
  server.requests_per_s = first ? now : (now + server.requests_per_s) / 2;
  server.replicas = ReplicasOf(counted, server.replicas);
  server.keys = KeysOf(counted, server);
  for (float& count : server.by_hash) count /= 2;
  const size_t parts = std::min(counted.keys.by_hash.size(), kHashParts);
  for (size_t i = 0; i < parts; ++i) {
    server.by_hash[i] += static_cast<float>(counted.keys.by_hash[i]);
  }
  server.at = state_.now;
  SetTimer();
}

std::vector<ReplicaTraffic> SkewBook::ReplicasOf(const CountedTraffic& counted,
                                                 const std::vector<ReplicaTraffic>& before) {
  std::vector<ReplicaTraffic> all;
  all.reserve(counted.shards.size());
  for (const RequestCount& count : counted.shards) {
    const ShardIndex shard = state_.tables.FindShard(count.shard);
    if (!shard.valid()) continue;
    all.push_back(AsCounted(shard, count, counted));
    const auto old = std::lower_bound(before.begin(), before.end(), all.back(), IsBefore);
    if (old != before.end() && old->shard == shard) Blend(*old, all.back());
  }
  std::sort(all.begin(), all.end(), IsBefore);
  const auto same = [](const auto& a, const auto& b) { return a.shard == b.shard; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());  // whatever it says
  return all;
}

// Half of the newest report and half of what was before, but where nothing was.
std::vector<KeyTraffic> SkewBook::KeysOf(const CountedTraffic& counted,
                                         const ServerTraffic& before) {
  const float share = before.at == TimePoint{} ? 1.0F : 0.5F;
  const float per_sample = share * static_cast<float>(PerSecond(counted.keys.one_in, counted));
  std::vector<KeyTraffic> all = before.keys;
  for (KeyTraffic& key : all) {
    key.requests_per_s /= 2;
    key.error_per_s /= 2;
    key.sampled /= 2;
  }
  for (const SampledKey& key : counted.keys.top) {
    const ShardIndex shard = state_.tables.FindShard(key.shard);
    if (!shard.valid()) continue;
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const KeyTraffic& known) { return known.key == key.key; });
    if (found == all.end()) found = all.insert(all.end(), {.key = key.key});
    found->shard = shard;
    found->requests_per_s += static_cast<float>(key.count) * per_sample;
    found->error_per_s += static_cast<float>(key.error) * per_sample;
    found->sampled += static_cast<float>(key.count - key.error);
  }
  std::erase_if(all, [](const KeyTraffic& key) { return key.requests_per_s < kRests; });
  std::sort(all.begin(), all.end(), [](const KeyTraffic& a, const KeyTraffic& b) {
    return std::tie(b.requests_per_s, a.key) < std::tie(a.requests_per_s, b.key);
  });
  if (all.size() > kMostKeys) all.resize(kMostKeys);
  return all;
}

void SkewBook::Look() {
  timer_is_set_ = false;
  ForgetSilent();
  LookAtEntropy();
  const AppTraffic app = TrafficOf(state_);
  TrafficFigures figures{.requests_per_s = app.requests_per_s,
                         .hottest_shard = LookAtShards(app),
                         .hottest_key = LookAtKeys(app)};
  figures.shards_hot = state_.skew.hot_shards.size();
  figures.keys_hot = state_.skew.hot_keys.size();
  if (state_.skew.entropy_known) figures.entropy_bits = state_.skew.entropies.back().bits;
  agenda_.Do(ShowTraffic{figures});
  if (!state_.skew.servers.empty()) SetTimer();
}

void SkewBook::ForgetSilent() {
  std::erase_if(state_.skew.servers, [&](const auto& entry) {
    return state_.now - entry.second.at > kSilentCollections * Interval() ||
           state_.tables.server(entry.first).state != ServerState::kLive;
  });
}

void SkewBook::LookAtEntropy() {
  std::array<double, kHashParts> counts{};
  for (const auto& [server, traffic] : state_.skew.servers) {
    for (size_t i = 0; i < kHashParts; ++i) counts[i] += traffic.by_hash[i];
  }
  std::deque<EntropyAt>& entropies = state_.skew.entropies;
  while (!entropies.empty() && state_.now - entropies.front().at > kKept) entropies.pop_front();
  const std::optional<double> bits = EntropyBits(counts);
  state_.skew.entropy_known = bits.has_value();
  if (bits) entropies.push_back({state_.now, *bits});
}

double SkewBook::LookAtShards(const AppTraffic& app) {
  std::set<ShardIndex>& hot = state_.skew.hot_shards;
  std::set<ShardIndex> now;
  const ShardTraffic* worst = nullptr;
  size_t fresh = 0;
  double busiest = 0;
  const std::vector<ShardTraffic> all = TrafficByShard(state_);
  for (const ShardTraffic& shard : all) {
    busiest = std::max(busiest, shard.busiest);
    const bool was_hot = hot.contains(shard.shard);
    if (!HeatOf(app, shard, GreatestLoadShare(state_, shard.shard), was_hot).hot()) continue;
    now.insert(shard.shard);
    if (was_hot) continue;
    ++fresh;
    if (worst == nullptr || shard.busiest > worst->busiest) worst = &shard;
  }
  const Cooled<ShardIndex> cooled = CooledOf(hot, now);
  hot = std::move(now);
  if (fresh > 0) {
    agenda_.AddNote(NoteKind::kShardHot, ServerIndex(), worst->shard,
                    absl::StrCat(WhyShardIsHot(state_, app, *worst), AndMore(fresh - 1, "shard")));
  }
  if (cooled.count > 0) {
    agenda_.AddNote(NoteKind::kShardCooled, ServerIndex(), cooled.first,
                    absl::StrCat("it is not hot any more", AndMore(cooled.count - 1, "shard")));
  }
  return app.of_server > 0 ? busiest / app.of_server : 0;
}

double SkewBook::LookAtKeys(const AppTraffic& app) {
  std::set<std::string>& hot = state_.skew.hot_keys;
  std::set<std::string> now;
  const KeyTotal* worst = nullptr;  // the first one, as they descend
  size_t fresh = 0;
  double busiest = 0;
  const std::vector<KeyTotal> all = TrafficByKey(state_);
  for (const KeyTotal& key : all) {
    busiest = std::max(busiest, key.busiest);
    const bool was_hot = hot.contains(key.key);
    if (!IsHotKey(app, key, was_hot)) continue;
    now.insert(key.key);
    if (!was_hot && fresh++ == 0) worst = &key;
  }
  const Cooled<std::string> cooled = CooledOf(hot, now);
  hot = std::move(now);
  if (fresh > 0) {
    agenda_.AddNote(NoteKind::kKeyHot, ServerIndex(), worst->shard,
                    absl::StrCat(WhyKeyIsHot(app, *worst), AndMore(fresh - 1, "key")));
  }
  if (cooled.count > 0) {
    agenda_.AddNote(NoteKind::kKeyCooled, ServerIndex(), ShardIndex(),
                    absl::StrCat("key ", Quoted(cooled.first), " is not hot any more",
                                 AndMore(cooled.count - 1, "key")));
  }
  return app.of_server > 0 ? busiest / app.of_server : 0;
}

}  // namespace shardmanager::orchestrator
