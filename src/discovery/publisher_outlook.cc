#include "discovery/publisher_outlook.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/map/cell_identity.h"

namespace shardmanager::discovery {

void PublisherOutlook::OnStreamOpened(size_t endpoint) {
  endpoint_ = endpoint;
  other_cell_.clear();
  in_vain_ = false;
}

bool PublisherOutlook::OnCell(const std::string& identity) {
  if (IsOfCell(identity, cell_)) return true;
  other_cell_ = identity;
  return false;
}

void PublisherOutlook::OnDelivered(bool is_newest) {
  newest_ = is_newest;
  if (!is_newest) return;
  tried_in_vain_ = 0;
  in_vain_ = false;
}

absl::Status PublisherOutlook::OnStreamEnded(std::string_view why) {
  newest_ = false;
  other_cells_[endpoint_] = other_cell_;
  CountInVain();
  return Lost(why);
}

void PublisherOutlook::CountInVain() {
  if (!std::exchange(in_vain_, true)) ++tried_in_vain_;
}

absl::Status PublisherOutlook::Lost(std::string_view why) const {
  std::string others;
  size_t count = 0;
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    if (other_cells_[i].empty()) continue;
    ++count;
    absl::StrAppend(&others, others.empty() ? "" : "; ", endpoints_[i], " has maps of cell ",
                    other_cells_[i], ", not of ", cell_);
  }
  if (count == endpoints_.size()) return absl::FailedPreconditionError(others);
  if (!other_cell_.empty()) return absl::UnavailableError(others);
  return absl::UnavailableError(absl::StrCat(endpoints_[endpoint_], ": ", std::string(why),
                                             others.empty() ? "" : "; ", others));
}

Freshness PublisherOutlook::freshness() const {
  if (newest_) return Freshness::kNewest;
  return tried_in_vain_ >= endpoints_.size() ? Freshness::kNobodySure : Freshness::kAsking;
}

std::optional<Freshness> PublisherOutlook::TakeChange() {
  const Freshness now = freshness();
  if (std::exchange(told_, now) == now) return std::nullopt;
  return now;
}

}  // namespace shardmanager::discovery
