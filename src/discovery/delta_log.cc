#include "discovery/delta_log.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace shardmanager::discovery {
namespace {

using Latest = std::map<uint32_t, const std::string*>;

void Overlay(const Change::Entries& entries, Latest& latest) {
  for (const auto& [index, bytes] : entries) latest[index] = &bytes;
}

Change::Entries Copy(const Latest& latest) {
  Change::Entries entries;
  entries.reserve(latest.size());
  for (const auto& [index, bytes] : latest) entries.emplace_back(index, *bytes);
  return entries;
}

}  // namespace

void DeltaLog::Append(Change change) {
  SM_CHECK(changes_.empty() || changes_.back().to == change.from, "the log has no gap");
  bytes_ += change.bytes();
  changes_.push_back(std::move(change));
  while (!changes_.empty() && (changes_.size() > limits_.changes || bytes_ > limits_.bytes)) {
    bytes_ -= changes_.front().bytes();
    changes_.pop_front();
  }
}

void DeltaLog::Clear() {
  changes_.clear();
  bytes_ = 0;
}

std::deque<Change>::const_iterator DeltaLog::Find(MapVersion from) const {
  const auto at = std::lower_bound(
      changes_.begin(), changes_.end(), from,
      [](const Change& change, const MapVersion& version) { return change.from < version; });
  return at != changes_.end() && at->from == from ? at : changes_.end();
}

bool DeltaLog::Reaches(MapVersion from) const { return Find(from) != changes_.end(); }

std::optional<Change> DeltaLog::Since(MapVersion from) const {
  const auto first = Find(from);
  if (first == changes_.end()) return std::nullopt;
  Latest servers;
  Latest shards;
  for (auto change = first; change != changes_.end(); ++change) {
    Overlay(change->servers, servers);
    Overlay(change->shards, shards);
  }
  return Change{from, changes_.back().to, Copy(servers), Copy(shards)};
}

}  // namespace shardmanager::discovery
