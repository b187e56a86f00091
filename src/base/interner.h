// The one place where names become dense ids.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace shardmanager {

// Gives each distinct name the next id, from 0; ids are never reused. The strings
// have stable addresses. Not thread-safe.
template <typename Id>
class Interner {
 public:
  // The name's id; a new one at first sight.
  Id Intern(std::string_view name) {
    auto it = ids_.find(name);
    if (it != ids_.end()) return it->second;
    const Id id(names_.size());
    names_.emplace_back(name);
    ids_.emplace(names_.back(), id);
    return id;
  }

  // An invalid id if the name was never seen.
  Id Find(std::string_view name) const {
    auto it = ids_.find(name);
    return it == ids_.end() ? Id() : it->second;
  }

  const std::string& name(Id id) const { return names_[id.index()]; }
  size_t size() const { return names_.size(); }

 private:
  std::deque<std::string> names_;
  absl::flat_hash_map<std::string_view, Id> ids_;
};

}  // namespace shardmanager
