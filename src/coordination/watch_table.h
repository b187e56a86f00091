// The one-shot watches of one session.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordination/store.h"

namespace shardmanager {

enum class WatchKind { kData, kChildren };

// Not thread-safe: lives on the session's thread. A watch may add others while it
// fires; those wait for the next event.
class WatchTable {
 public:
  using Watch = CoordinationStore::Watch;

  void Add(WatchKind kind, const std::string& path, Watch watch) {
    if (watch) watches_[{kind, path}].push_back(std::move(watch));
  }

  void Fire(WatchKind kind, const std::string& path) {
    auto found = watches_.extract({kind, path});
    if (found.empty()) return;
    for (Watch& watch : found.mapped()) watch();
  }

  void FireAll() {
    const auto all = std::exchange(watches_, {});
    for (const auto& [key, watches] : all) {
      for (const Watch& watch : watches) watch();
    }
  }

  void Clear() { watches_.clear(); }

  // Calls f(path), once or more for each path that is watched.
  template <typename F>
  void ForEachPath(F&& f) const {
    for (const auto& [key, watches] : watches_) f(key.second);
  }

 private:
  std::map<std::pair<WatchKind, std::string>, std::vector<Watch>> watches_;
};

}  // namespace shardmanager
