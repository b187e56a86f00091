#include "allocator/solver/search.h"

#include "allocator/solver/anneal.h"
#include "allocator/solver/descent.h"

namespace shardmanager::solver {

class Search::Impl {
 public:
  Impl(const Model& model, const SearchOptions& options)
      : state_(model), descent_(state_, options), annealer_(state_, options.seed) {}

  bool Descend() {
    Restore();
    const bool finished = descent_.Run();
    annealer_.Forget();
    best_.resize(0);
    return finished;
  }

  void Anneal(const AnnealOptions& options) {
    Keep();
    annealer_.Run(options, best_score_, [this] { Keep(); });
  }

  // Back to the best.
  void Restore() {
    for (uint32_t i = 0; i < best_.size(); ++i) {
      if (state_.where(ObjectId(i)) != best_[ObjectId(i)])
        state_.Move(ObjectId(i), best_[ObjectId(i)]);
    }
  }

  // Remembers what stands if it is the best.
  void Keep() {
    const Score score = state_.Total();
    if (!best_.empty() && !score.BetterThan(best_score_)) return;
    best_score_ = score;
    best_ = Placement();
  }

  Table<ObjectId, ContainerId> Placement() const {
    Table<ObjectId, ContainerId> where(state_.problem().objects);
    for (uint32_t i = 0; i < where.size(); ++i) where[ObjectId(i)] = state_.where(ObjectId(i));
    return where;
  }

  State state_;
  Descent descent_;
  Annealer annealer_;
  Table<ObjectId, ContainerId> best_;  // empty: what stands
  Score best_score_;
};

Search::Search(const Model& model, const SearchOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
Search::~Search() = default;

bool Search::Descend() { return impl_->Descend(); }
void Search::Anneal(const AnnealOptions& options) { impl_->Anneal(options); }
Table<ObjectId, ContainerId> Search::Where() const {
  return impl_->best_.empty() ? impl_->Placement() : impl_->best_;
}
Score Search::BestScore() const {
  return impl_->best_.empty() ? impl_->state_.Total() : impl_->best_score_;
}
uint64_t Search::steps() const { return impl_->state_.steps() + impl_->annealer_.steps(); }
const State& Search::state() const { return impl_->state_; }
State& Search::mutable_state() { return impl_->state_; }

}  // namespace shardmanager::solver
