#include "allocator/solver/search.h"

#include "allocator/solver/anneal/annealer.h"
#include "allocator/solver/anneal/seating.h"
#include "allocator/solver/best.h"
#include "allocator/solver/descent.h"
#include "allocator/solver/mending.h"

namespace shardmanager::solver {

class Search::Impl {
 public:
  Impl(const Model& model, const SearchOptions& options)
      : state_(model), descent_(state_, options), annealer_(state_, options.seed) {}

  bool Descend(const Patience& patience) {
    BackToBest();
    const bool finished = descent_.Run(patience);
    annealer_.Forget();
    best_.Forget();
    return finished;
  }

  bool Mend(const Patience& patience) {
    BackToBest();
    annealer_.Forget();
    best_.Forget();
    if (!CanRepair(state_)) return false;
    const Score before = state_.Total();
    const auto where = Best::Placement(state_);
    GoHome();
    SeatUnplaced(state_, kMostSeated);
    MendLoads(state_, patience);
    descent_.Run(patience);
    if (!state_.Total().BetterThan(before)) MoveTo(where);
    return true;
  }

  void Anneal(const AnnealOptions& options) {
    if (best_.empty()) best_.Note(state_);
    annealer_.Run(options, best_);
  }

  void BackToBest() {
    if (!best_.empty()) MoveTo(best_.where());
  }

  void GoOnFrom(const Table<ObjectId, ContainerId>& where) {
    MoveTo(where);
    annealer_.Forget();
    best_.Forget();
  }

  // (Whatever starts nowhere stays where it stands.)
  void GoHome() {
    for (uint32_t i = 0; i < state_.problem().objects; ++i) {
      const ObjectId o(i);
      if (state_.Moved(o) && state_.problem().start[o].valid()) {
        state_.Move(o, state_.problem().start[o]);
      }
    }
  }

  void MoveTo(const Table<ObjectId, ContainerId>& where) {
    for (uint32_t i = 0; i < state_.problem().objects; ++i) {
      const ObjectId o(i);
      if (state_.where(o) != where[o]) state_.Move(o, where[o]);
    }
  }

  State state_;
  Descent descent_;
  Annealer annealer_;
  Best best_;  // empty: what stands
};

Search::Search(const Model& model, const SearchOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
Search::~Search() = default;

bool Search::Descend(const Patience& patience) { return impl_->Descend(patience); }
bool Search::Mend(const Patience& patience) { return impl_->Mend(patience); }
void Search::Anneal(const AnnealOptions& options) { impl_->Anneal(options); }
void Search::GoOnFrom(const Table<ObjectId, ContainerId>& where) { impl_->GoOnFrom(where); }
Table<ObjectId, ContainerId> Search::Where() const {
  return impl_->best_.empty() ? Best::Placement(impl_->state_) : impl_->best_.where();
}
Score Search::BestScore() const {
  return impl_->best_.empty() ? impl_->state_.Total() : impl_->best_.score();
}
uint32_t Search::Moves() const {
  const Best& best = impl_->best_;
  return best.empty() ? impl_->state_.moved() : best.moves();
}
uint64_t Search::steps() const { return impl_->state_.steps() + impl_->annealer_.steps(); }
const State& Search::state() const { return impl_->state_; }
State& Search::mutable_state() { return impl_->state_; }

}  // namespace shardmanager::solver
