// What a subscriber has seen of the publishers of its map: whether one of them is sure that the
// subscriber holds the newest map, and which of them are of another cell.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace shardmanager::discovery {

// How sure it is that the map that a subscriber holds is the newest one.
enum class Freshness {
  kAsking,      // nobody has said so yet: at first, and when a stream is lost
  kNewest,      // a publisher has said so, and is heard
  kNobodySure,  // each endpoint was tried in vain since then
};

// Pure. Hears of one stream after the other, in the order of time.
class PublisherOutlook {
 public:
  // `cell`: the name of the cell whose map is wanted; "": any. REQUIRES: `endpoints` has at least
  // one element.
  PublisherOutlook(std::vector<std::string> endpoints, std::string cell)
      : endpoints_(std::move(endpoints)), cell_(std::move(cell)), other_cells_(endpoints_.size()) {}

  // A stream to endpoints[endpoint] begins. REQUIRES: no stream is open.
  void OnStreamOpened(size_t endpoint);
  // A message names the cell of its publisher ("": it does not say). False: it is another cell, and
  // this stream is of no use.
  bool OnCell(const std::string& identity);
  // The publisher says that a newer map may exist.
  void OnUnsure() { CountInVain(); }
  // A message was delivered. `is_newest`: by all that the publisher has said, what is held is the
  // newest map.
  void OnDelivered(bool is_newest);
  // The stream has ended; `why` is for people. Returns what to say of it: FAILED_PRECONDITION if
  // all endpoints are of other cells, else UNAVAILABLE.
  absl::Status OnStreamEnded(std::string_view why);

  Freshness freshness() const;
  // The freshness, if it is another one than at the last call (kAsking before the first one).
  std::optional<Freshness> TakeChange();

 private:
  void CountInVain();
  absl::Status Lost(std::string_view why) const;

  const std::vector<std::string> endpoints_;
  const std::string cell_;
  std::vector<std::string> other_cells_;  // of each endpoint; "": ours, or not known
  size_t endpoint_ = 0;                   // of this stream
  std::string other_cell_;                // the publisher of this stream is of this cell
  bool newest_ = false;                   // the publisher of this stream is sure
  bool in_vain_ = false;                  // this stream is counted in tried_in_vain_
  size_t tried_in_vain_ = 0;              // streams since a publisher was sure of its map
  Freshness told_ = Freshness::kAsking;
};

}  // namespace shardmanager::discovery
