// Taking load off a container with as few moves as can be.
#include <algorithm>

#include "allocator/solver/descent.h"

namespace shardmanager::solver {
namespace {

constexpr int kCoverLooks = 2'000;    // of the search for few objects that relieve a container
constexpr size_t kLargestCover = 6;   // objects
constexpr double kNearly = 1 - 1e-9;  // all of it, but for rounding

}  // namespace

void Descent::RankByRelief(ContainerId c, std::vector<Candidate>& out) {
  out.clear();
  reliefs_.clear();
  ranking_.clear();
  for (ObjectId o : state_.On(c)) {
    if (!state_.MayMove(o)) continue;
    const Score relief = state_.Relief(o, c);
    if (!relief.BetterThan(kNoChange)) continue;
    ranking_.push_back(static_cast<uint32_t>(reliefs_.size()));
    reliefs_.push_back({o, ContainerId(), relief});
  }
  if (options_.large_first) {
    std::stable_sort(ranking_.begin(), ranking_.end(), [this](uint32_t a, uint32_t b) {
      return reliefs_[a].change.BetterThan(reliefs_[b].change);
    });
  }
  for (uint32_t i : ranking_) out.push_back(reliefs_[i]);
}

// How much of the excess an object takes away. Small excesses count little: whatever
// leaves for the large ones tends to take them along.
double Descent::CoverageOf(ObjectId o, const std::vector<Amount>& excess) const {
  double coverage = 0;
  const auto load = state_.problem().LoadOf(o);
  for (size_t m = 0; m < excess.size(); ++m) {
    if (excess[m] <= 0) continue;
    coverage += static_cast<double>(std::min<Amount>(load[m], excess[m])) * size_unit_[m];
  }
  return coverage;
}

// Fills excess_ and covers_ (those that cover most first) for `c`. False: it is not
// above any limit.
bool Descent::FindCovers(ContainerId c, const std::vector<ObjectId>& refused) {
  excess_.resize(state_.problem().metrics.size());
  bool over = false;
  for (size_t m = 0; m < excess_.size(); ++m) {
    excess_[m] = state_.containers().Excess(DomainId(c.index()), static_cast<uint32_t>(m));
    over |= excess_[m] > 0;
  }
  if (!over) return false;
  covers_.clear();
  for (ObjectId o : state_.On(c)) {
    if (!state_.MayMove(o)) continue;
    if (std::find(refused.begin(), refused.end(), o) != refused.end()) continue;
    const double coverage = CoverageOf(o, excess_);
    if (coverage > 0) covers_.push_back({coverage, SizeOf(o), o});
  }
  // Of two that take away the same, the one that carries less.
  std::sort(covers_.begin(), covers_.end(), [](const Cover& a, const Cover& b) {
    return a.coverage != b.coverage ? a.coverage > b.coverage : a.size < b.size;
  });
  return true;
}

// Whether `n` of covers_ from `from` on take all of excess_ away; they are added to
// chosen_.
bool Descent::CoverWith(size_t n, size_t from, int& looks) {
  if (std::all_of(excess_.begin(), excess_.end(), [](Amount e) { return e <= 0; })) return true;
  if (n == 0) return false;
  double left = 0;
  for (size_t m = 0; m < excess_.size(); ++m) {
    if (excess_[m] > 0) left += static_cast<double>(excess_[m]) * size_unit_[m];
  }
  for (size_t i = from; i < covers_.size() && --looks > 0; ++i) {
    // Those that follow take away less still.
    if (covers_[i].coverage * static_cast<double>(n) < left * kNearly) return false;
    const auto load = state_.problem().LoadOf(covers_[i].object);
    for (size_t m = 0; m < load.size(); ++m) excess_[m] -= load[m];
    chosen_.push_back(covers_[i].object);
    const bool yes = CoverWith(n - 1, i + 1, looks);
    for (size_t m = 0; m < load.size(); ++m) excess_[m] += load[m];
    if (yes) return true;
    chosen_.pop_back();
  }
  return false;
}

// The objects whose leaving gets `c` under its limits, as few as a short search finds;
// failing that, the one that covers most. Nothing: it is under them.
void Descent::ChooseToLeave(ContainerId c, const std::vector<ObjectId>& refused) {
  chosen_.clear();
  if (!FindCovers(c, refused) || covers_.empty()) return;
  if (!options_.large_first) {
    chosen_ = {covers_[random_.Below(covers_.size())].object};
    return;
  }
  int looks = kCoverLooks;
  for (size_t n = 1; n <= kLargestCover && looks > 0; ++n) {
    if (CoverWith(n, 0, looks)) return;
  }
  chosen_ = {covers_.front().object};
}

// First the containers' own limits, then what else is paid for standing there.
bool Descent::Relieve(ContainerId c) {
  bool improved = false;
  refused_.clear();
  for (ChooseToLeave(c, refused_); !chosen_.empty() && !OutOfSteps(); ChooseToLeave(c, refused_)) {
    for (ObjectId o : chosen_) {
      if (TryMove(o)) {
        improved = true;
      } else {
        refused_.push_back(o);
      }
    }
    if (refused_.size() >= kMostRefused) break;
  }
  if (!state_.PaysElsewhere(c)) return improved;
  std::vector<Candidate> ranked;
  RankByRelief(c, ranked);
  for (const Candidate& candidate : ranked) {
    if (OutOfSteps() || !state_.PaysElsewhere(c)) break;
    improved |= TryMove(candidate.object);
  }
  return improved;
}

}  // namespace shardmanager::solver
