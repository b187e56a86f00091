// How long it takes to find the server of a key, at 100,000 shards.
//
//   scripts/bench router
//
// And what a map costs in memory: once it is there, and at most while it is taken from the wire.
//
// Figures are medians of rounds over a million random keys that stand in memory one
// after the other, in the order of their use: a real key was just made by its caller,
// so reading it is not what is measured.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/random.h"
#include "discovery/map_feed.h"
#include "discovery/map_receiver.h"
#include "router/map_holder.h"
#include "router/published.h"
#include "router/replica_choice.h"
#include "router/router_impl.h"

namespace {

std::atomic<uint64_t> g_allocations{0};

void* Allocated(void* memory) {
  if (memory == nullptr) std::abort();
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// GCC pairs our inlined `new` with a `delete` that it thinks is another one.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

// Counts what a lookup must not do.
void* operator new(size_t size) { return Allocated(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t align) {
  return Allocated(std::aligned_alloc(static_cast<size_t>(align), size));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace shardmanager {
namespace {

constexpr size_t kShards = 100'000;
constexpr size_t kServers = 500;
constexpr size_t kRegions = 3;
constexpr size_t kLookups = 1'000'000;
constexpr int kRounds = 15;

// Keys side by side in one buffer.
class Keys {
 public:
  void Add(std::string_view key) {
    bytes_ += key;
    ends_.push_back(bytes_.size());
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

// Nanoseconds a lookup; adds up what the lookups allocated. `find` returns something
// that depends on its work.
template <typename Find>
double Measure(const Keys& keys, uint64_t& allocations, const Find& find) {
  std::vector<double> rounds;
  uint64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t allocated = g_allocations;
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < keys.size(); ++i) sum += find(keys[i]);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    allocations += g_allocations - allocated;
    rounds.push_back(took.count() / static_cast<double>(keys.size()));
  }
  SM_CHECK(sum > 0, "the lookups were carried out");
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

void Figure(const char* name, double value, const char* unit) {
  std::printf("FIGURE %s %.1f %s\n", name, value, unit);
}

// `starts`: ascending, of the shards after the first.
v1::MapSnapshot MakeMap(const std::vector<std::string>& starts) {
  v1::MapSnapshot whole;
  *whole.mutable_version() = MapVersion{1, 1}.ToProto();
  for (size_t i = 0; i < kServers; ++i) {
    v1::MapServer* server = whole.add_servers();
    server->set_index(static_cast<uint32_t>(i));
    server->set_name(absl::StrFormat("kv-%d", i));
    server->set_endpoint(absl::StrFormat("10.0.%d.%d:7000", i / 250, i % 250));
    server->mutable_fault_domain()->set_region(absl::StrFormat("region-%d", i % kRegions));
  }
  for (size_t i = 0; i <= starts.size(); ++i) {
    v1::MapShard* shard = whole.add_shards();
    shard->set_index(static_cast<uint32_t>(i));
    shard->set_id(absl::StrFormat("shard-%06d", i));
    if (i > 0) shard->mutable_range()->set_start(starts[i - 1]);
    if (i < starts.size()) shard->mutable_range()->set_end(starts[i]);
    v1::MapReplica* replica = shard->add_replicas();
    replica->set_server(static_cast<uint32_t>(i * 7 % kServers));
    replica->set_role(v1::PRIMARY);
  }
  return whole;
}

// The same with a secondary of each shard in each region, and no primaries.
v1::MapSnapshot MakeMapOfSecondaries(const std::vector<std::string>& starts) {
  v1::MapSnapshot whole = MakeMap(starts);
  for (v1::MapShard& shard : *whole.mutable_shards()) {
    const uint32_t first = shard.replicas(0).server();
    shard.clear_replicas();
    for (uint32_t region = 0; region < kRegions; ++region) {
      v1::MapReplica* replica = shard.add_replicas();
      replica->set_server((first + region) % kServers);
      replica->set_role(v1::SECONDARY);
    }
  }
  return whole;
}

struct Data {
  std::vector<std::string> starts;
  Keys keys;
};

// A shard for each 100 of ten million users.
Data Users(Random& random) {
  Data data;
  for (size_t i = 1; i < kShards; ++i) data.starts.push_back(absl::StrFormat("user:%08d", i * 100));
  for (size_t i = 0; i < kLookups; ++i) {
    data.keys.Add(absl::StrFormat("user:%08d", random.Below(kShards * 100)));
  }
  return data;
}

// Words of two to five syllables: many begin alike. Every second key is a boundary
// itself, which is the dearest to tell from its neighbours.
std::string Word(Random& random) {
  constexpr const char* kSyllables[] = {"an",  "con", "de",   "er",   "for", "in", "inter", "ing",
                                        "ly",  "men", "ness", "ou",   "pre", "re", "ri",    "s",
                                        "sta", "ter", "ti",   "tion", "un",  "ve", "wa",    "y"};
  std::string word;
  for (uint64_t i = 2 + random.Below(4); i > 0; --i) {
    word += kSyllables[random.Below(std::size(kSyllables))];
  }
  return word;
}

Data Words(Random& random) {
  std::set<std::string> starts;
  while (starts.size() < kShards - 1) starts.insert(Word(random));
  Data data{{starts.begin(), starts.end()}, {}};
  for (size_t i = 0; i < kLookups; ++i) {
    data.keys.Add(i % 2 == 0 ? data.starts[random.Below(data.starts.size())] : Word(random));
  }
  return data;
}

struct Figures {
  double table_ns;
  double router_ns;
  double nearest_ns;
  double std_map_ns;
  uint64_t allocations;
};

Figures Run(const Data& data) {
  router::MapHolder holder;
  SM_CHECK(holder.Apply(MakeMap(data.starts)).ok(), "the map is right");
  const router::MapLayout& layout = holder.map()->layout();
  std::map<std::string, uint64_t, std::less<>> tree{{"", 0}};
  for (size_t i = 0; i < data.starts.size(); ++i) tree.emplace(data.starts[i], i + 1);
  for (size_t i = 0; i < data.keys.size(); ++i) {
    SM_CHECK(
        layout.FindByKey(data.keys[i]).index() == std::prev(tree.upper_bound(data.keys[i]))->second,
        "both find the same");
  }

  // What a call does before it sends: the app's current map, the shard, the server.
  router_internal::RouterImpl router({});
  router_internal::AppRouter& app = router.App("kv");
  static_cast<wire::MapSink&>(app).OnSnapshot(WholeMap(MakeMap(data.starts)));
  const auto find_server = [&](std::string_view key) {
    const auto& map = app.map();
    const ShardIndex shard = map->layout().FindByKey(key);
    return router::ChooseReplica(*map, shard, {}).replica->server().index() + 1;
  };
  // And of a call that any replica may answer: the nearest that is well.
  router_internal::AppRouter& replicated = router.App("replicated");
  static_cast<wire::MapSink&>(replicated).OnSnapshot(WholeMap(MakeMapOfSecondaries(data.starts)));
  const FaultDomain client{"region-1", "", ""};
  const auto find_nearest = [&](std::string_view key) {
    const auto& map = replicated.map();
    const ShardIndex shard = map->layout().FindByKey(key);
    return router::ChooseReplica(*map, shard, {.location = &client, .random = router.NextRandom()})
               .replica->server()
               .index() +
           1;
  };

  Figures figures{};
  const auto find_shard = [&](std::string_view key) { return layout.FindByKey(key).index() + 1; };
  const auto find_in_tree = [&](std::string_view key) {
    return std::prev(tree.upper_bound(key))->second + 1;
  };
  uint64_t ignored = 0;
  figures.table_ns = Measure(data.keys, figures.allocations, find_shard);
  figures.router_ns = Measure(data.keys, figures.allocations, find_server);
  figures.nearest_ns = Measure(data.keys, figures.allocations, find_nearest);
  figures.std_map_ns = Measure(data.keys, ignored, find_in_tree);
  return figures;
}

struct Memory {
  double map_mb;
  double most_mb;
};

// Resident, in MB, as /proc/self/status tells. `field`: VmRSS:, or VmHWM: for the most since
// ResetPeak().
double Resident(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(field.size())) * 1024 / 1e6;
  }
  return 0;
}
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Of one map that comes as over the wire, message by message. What malloc keeps of freed memory is
// no part of it.
Memory MeasureMemory(const std::vector<std::string>& starts) {
  std::vector<discovery::Message> messages;
  {
    discovery::MapFeed feed;
    SM_CHECK(feed.Publish(MakeMap(starts)).kind == discovery::Verdict::kApplied, "it is right");
    messages = feed.CatchUpFrom(std::nullopt).messages;
  }
  router_internal::RouterImpl router({});
  wire::MapSink& app = router.App("kv");
  discovery::MapReceiver receiver;
  malloc_trim(0);
  const double before = Resident("VmRSS:");
  ResetPeak();
  for (const discovery::Message& message : messages) {
    auto update = discovery::WatchUpdate::Parse(PageString(*message));
    SM_CHECK(update.ok(), "it is a message");
    discovery::Received received = receiver.Receive(*std::move(update));
    if (auto* whole = std::get_if<WholeMap>(&received)) app.OnSnapshot(std::move(*whole));
  }
  SM_CHECK(router.App("kv").map() != nullptr, "the map has come");
  const double most = Resident("VmHWM:") - before;
  malloc_trim(0);
  return {Resident("VmRSS:") - before, most};
}

void Main() {
  Random random(20210926);
  const Memory memory = MeasureMemory(Users(random).starts);
  Figure("router_map_mb", memory.map_mb, "MB");
  Figure("router_map_peak_mb", memory.most_mb, "MB");
  const Figures users = Run(Users(random));
  const Figures words = Run(Words(random));
  std::printf("%zu shards, %zu lookups a round, median of %d rounds\n", kShards, kLookups, kRounds);
  Figure("router_lookup_ns", users.table_ns, "ns");
  Figure("router_lookup_words_ns", words.table_ns, "ns");
  Figure("router_full_lookup_ns", users.router_ns, "ns");
  Figure("router_full_lookup_words_ns", words.router_ns, "ns");
  Figure("router_nearest_lookup_ns", users.nearest_ns, "ns");
  Figure("std_map_upper_bound_ns", users.std_map_ns, "ns");
  Figure("std_map_upper_bound_words_ns", words.std_map_ns, "ns");
  Figure("router_lookup_allocs", static_cast<double>(users.allocations + words.allocations),
         "allocations");
}

}  // namespace
}  // namespace shardmanager

int main() { shardmanager::Main(); }
