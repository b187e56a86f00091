// What primaries have acknowledged, by shard.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace shardmanager::simulation {

class Written {
 public:
  void MadeOf(const std::string& shard, const std::string& from) { made_of_[shard].insert(from); }
  // Of a shard that was made of others: first all of theirs (a world knows no keys).
  std::set<uint64_t>& To(const std::string& shard) {
    const auto [written, fresh] = by_shard_.try_emplace(shard);
    if (!fresh) return written->second;
    for (const std::string& from : made_of_[shard]) {
      const std::set<uint64_t>& old = by_shard_[from];
      written->second.insert(old.begin(), old.end());
    }
    return written->second;
  }

 private:
  std::map<std::string, std::set<uint64_t>> by_shard_;
  std::map<std::string, std::set<std::string>> made_of_;
};

}  // namespace shardmanager::simulation
