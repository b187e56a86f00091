// scripts/bench routing: what the functions of shardmanager/routing.h do to a million keys. How
// evenly they spread them over the shards, how many move when one shard is added, and how long a
// lookup takes (in processor time, with the next key known: other work of the machine does not
// count).
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "shardmanager/routing.h"

namespace shardmanager {
namespace {

constexpr size_t kKeys = 1'000'000;

std::vector<RoutedShard> Shards(size_t count) {
  std::vector<RoutedShard> shards;
  for (size_t i = 0; i < count; ++i) {
    shards.push_back({.id = ShardId(absl::StrFormat("shard-%04d", i))});
  }
  return shards;
}

// For comparison: what needs no list of shards.
struct Modulo {
  explicit Modulo(size_t count) : count(count) {}
  size_t Number(std::string_view key) const { return KeyHash(key) % count; }
  size_t count;
};
// KeySpace.hash_shards.
struct EqualParts {
  explicit EqualParts(size_t count) : count(count) {}
  size_t Number(std::string_view key) const {
    return static_cast<size_t>(static_cast<unsigned __int128>(KeyHash(key)) * count >> 64);
  }
  size_t count;
};
template <typename Function>
struct ById {
  explicit ById(Function function) : function(std::move(function)) {}
  size_t Number(std::string_view key) const {
    const std::string& id = function.Find(key).value();
    size_t number = 0;
    for (size_t i = id.size() - 4; i < id.size(); ++i) {
      number = number * 10 + static_cast<size_t>(id[i] - '0');
    }
    return number;
  }
  Function function;
};
struct Rendezvous : ById<RendezvousHash> {
  explicit Rendezvous(size_t count) : ById(*RendezvousHash::Make(Shards(count))) {}
};
template <uint32_t kNodes>
struct Ring : ById<RingHash> {
  explicit Ring(size_t count) : ById(*RingHash::Make(Shards(count), kNodes)) {}
};

template <typename Function>
std::vector<size_t> RouteAll(const Function& function, const std::vector<std::string>& keys) {
  std::vector<size_t> numbers;
  numbers.reserve(keys.size());
  for (const std::string& key : keys) numbers.push_back(function.Number(key));
  return numbers;
}

template <typename Function>
void Measure(const char* name, size_t count, const std::vector<std::string>& keys) {
  const Function function(count);
  const std::clock_t begin = std::clock();
  const auto before = RouteAll(function, keys);
  const double took_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const auto after = RouteAll(Function(count + 1), keys);
  std::vector<size_t> loads(count);
  size_t moved = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    ++loads[before[i]];
    moved += before[i] != after[i];
  }
  const double mean = static_cast<double>(kKeys) / static_cast<double>(count);
  const auto most = static_cast<double>(*std::max_element(loads.begin(), loads.end()));
  const double moved_pct = 100.0 * static_cast<double>(moved) / kKeys;
  std::printf("FIGURE routing_%s_%zu_moved_pct %.2f %%\n", name, count, moved_pct);
  std::printf("FIGURE routing_%s_%zu_most_over_mean %.3f ratio\n", name, count, most / mean);
  std::printf("FIGURE routing_%s_%zu_ns %.0f ns\n", name, count, took_s * 1e9 / kKeys);
}

void Main() {
  std::vector<std::string> keys;
  for (size_t i = 0; i < kKeys; ++i) keys.push_back(absl::StrFormat("user-%07d", i));
  for (const size_t count : {20, 100}) {
    Measure<Modulo>("modulo", count, keys);
    Measure<EqualParts>("equal_parts", count, keys);
    Measure<Rendezvous>("rendezvous", count, keys);
    Measure<Ring<64>>("ring_64", count, keys);
    Measure<Ring<256>>("ring_256", count, keys);
    Measure<Ring<1024>>("ring_1024", count, keys);
  }
}

}  // namespace
}  // namespace shardmanager

int main() { shardmanager::Main(); }
