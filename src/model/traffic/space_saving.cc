#include "model/traffic/space_saving.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/string_view.h"

namespace shardmanager {

void SpaceSaving::Add(std::string_view key, std::string_view shard) {
  ++total_;
  const auto found = places_.find(absl::string_view(key.data(), key.size()));
  if (found != places_.end()) {
    Entry& entry = entries_[found->second];
    ++entry.count;
    if (entry.shard != shard) entry.shard = shard;
    return;
  }
  if (entries_.size() < most_) {
    places_.emplace(std::string(key), entries_.size());
    entries_.push_back({std::string(key), std::string(shard), 1, 0});
    return;
  }
  // The key takes the place of the least frequent one, whose count it may have had all the time.
  const auto least =
      std::min_element(entries_.begin(), entries_.end(),
                       [](const auto& a, const auto& b) { return a.count < b.count; });
  places_.erase(least->key);
  places_.emplace(std::string(key), static_cast<size_t>(least - entries_.begin()));
  *least = {std::string(key), std::string(shard), least->count + 1, least->count};
}

std::vector<SpaceSaving::Entry> SpaceSaving::Top(size_t count) const {
  std::vector<Entry> top(std::min(count, entries_.size()));
  std::partial_sort_copy(entries_.begin(), entries_.end(), top.begin(), top.end(),
                         [](const Entry& a, const Entry& b) {
                           return std::tie(b.count, a.key) < std::tie(a.count, b.key);
                         });
  return top;
}

void SpaceSaving::Clear() {
  total_ = 0;
  entries_.clear();
  places_.clear();
}

}  // namespace shardmanager
