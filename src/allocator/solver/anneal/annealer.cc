#include "allocator/solver/anneal/annealer.h"

#include <algorithm>
#include <cmath>

namespace shardmanager::solver {
namespace {

// Proposals between two looks at the temperature, at the prices and at what is best.
constexpr uint64_t kStride = 2048;

// How prices of constraints go (price.h). At first constraints may be broken a little, which
// opens ways that are closed to those who keep them at every step; less and less so, and
// while it is still warm enough to rearrange what stands in the way.
constexpr double kSlack = 0.004;         // at first: the part of all load, or of all objects
constexpr double kSlackEnds = 0.65;      // progress at which nothing is left of it
constexpr double kSlackPower = 4;        // how soon most of it is gone
constexpr double kPriceDoublings = 170;  // up and down, over the whole annealing
constexpr double kMostPriceStep = 0.1;   // of the price's logarithm, between two looks
// Prices of kept constraints fall more slowly towards the end, and do not at the end.
double Laxity(double progress) { return 0.6 * std::max(0.0, 0.95 - progress); }

// Repairing, the price of a unit goes on from where, of all single moves, about one would be
// accepted that breaks a unit, and rises by this factor, to where no gain makes up for one.
constexpr double kPriceRange = 8;
// What is not repaired by then never will be, and the goals have their turn.
constexpr double kRepairEnds = 0.5;

// Constraints that tie groups to one another are broken on the way only if there are so many steps
// for each pair of objects: what repairs a unit of them is two steps that must come one after the
// other.
constexpr double kStepsForTies = 1'000;

// What has been broken for so long, as a part of the whole, will not be repaired: back to the best.
constexpr double kLasts = 0.05;
// The last part of the time is for what little there is to gain near the best.
constexpr double kQuench = 0.9;
// Unless that is far above what stands, which then breaks a constraint by a little: repairing
// that costs less than to start from a best of long ago.
constexpr double kNear = 0.99;
constexpr double kQuenched = 1e-3;  // temperature at its end, as a part of the one before
// From then on nothing but what keeps every constraint is of use any more.
constexpr double kLastTurn = 0.95;

// What a goal's slope (rules.h) counts beside the goal: more, as a single object is little of what
// a container holds.
constexpr double kSlope = 3;

// So many moves of an object that is away from its start go back there. Where moves are
// dear, or bound to what is left at both ends, most objects stay, and the art is which ones
// do not.
constexpr double kHomeShare = 0.7;

// Steps in the whole annealing.
double AllSteps(const AnnealOptions& options) {
  return static_cast<double>(options.steps) /
         std::max(options.progress_after - options.progress, 1e-9);
}

}  // namespace

Annealer::Annealer(State& state, uint64_t seed)
    : state_(state), random_(seed ^ 0xa11ea1), bad_(state.Total()) {
  const auto n = static_cast<double>(draws_.size());
  for (size_t i = 0; i < draws_.size(); ++i) {
    draws_[i] = static_cast<float>(-std::log((static_cast<double>(i) + 0.5) / n));
  }
}

double Annealer::Temperature(const AnnealOptions& options) const {
  const double all = course_.Energy(bad_);
  const double hot = options.hot > 0 ? options.hot * all : course_.HotFor(steps_per_object_);
  const double cold = options.cold > 0 ? options.cold * all : course_.cold;
  if (progress_ < kQuench) return hot * std::pow(cold / hot, progress_ / kQuench);
  return cold * std::pow(kQuenched, (progress_ - kQuench) / (1 - kQuench));
}

Price::Policy Annealer::Policy(const AnnealOptions& options) const {
  const double looks = std::max(1.0, AllSteps(options) / kStride);
  const double step = std::min(kMostPriceStep, kPriceDoublings * std::log(2) / looks);
  const double left = std::max(0.0, 1 - progress_ / kSlackEnds);
  Price::Policy policy{.rise = std::exp(step),
                       .fall = std::exp(step * Laxity(progress_)),
                       .slack = kSlack * std::pow(left, kSlackPower)};
  if (!repairing_) return policy;
  policy.slack = 0;
  policy.repair = true;
  policy.objects = std::max<double>(1, state_.problem().objects);
  const double moves = policy.objects * state_.problem().containers;
  policy.restart = temperature_ * std::log(std::max(moves, std::exp(1.0)));
  policy.ceiling = kPriceRange * policy.restart;
  return policy;
}

// (Those that even seating found no place for are left alone.)
void Annealer::Collect() {
  movable_.clear();
  for (uint32_t i = 0; i < state_.problem().objects; ++i) {
    const ObjectId o(i);
    if (state_.MayMove(o) && state_.where(o).valid()) movable_.push_back(o);
  }
}

void Annealer::CollectFavoured() {
  favoured_.clear();
  favour_at_ = steps_ + std::max<uint64_t>(kStride, movable_.size());
  if (repairing_) CollectBlamed();
  if (!saving_) return;
  for (ObjectId o : movable_) {
    if (state_.Moved(o) && state_.problem().start[o].valid()) favoured_.push_back(o);
  }
}

void Annealer::CollectBlamed() {
  const GroupBoard& groups = state_.group_board();
  std::vector<ObjectId> payers;
  for (const auto& rule : state_.custom()) {
    if (rule->level() == kConstraintLevel) rule->AddPayers(payers);
  }
  for (ObjectId o : movable_) {
    const ContainerId at = state_.Lift(o);
    const bool pays = state_.Arrival(o, at)[kConstraintLevel] > kTolerance;
    state_.Put(o, at, at);
    if (pays || state_.GroupCost(groups.GroupOf(o))[kConstraintLevel] > kTolerance) {
      favoured_.push_back(o);
    }
  }
  for (ObjectId o : payers) {
    if (state_.MayMove(o) && state_.where(o).valid()) favoured_.push_back(o);
  }
}

// To draw the limit first is the same as to draw whether a rise is accepted, and leaves out
// what is beyond it.
double Annealer::Limit() { return temperature_ * draws_[random_.Below(draws_.size())]; }

ObjectId Annealer::Draw() {
  if ((repairing_ || saving_) && !favoured_.empty() && random_.Next() >> 63 == 0) {
    return favoured_[random_.Below(favoured_.size())];
  }
  return movable_[random_.Below(movable_.size())];
}

// The whole score takes about as long as a step for each object: not more often than that.
void Annealer::NoteBest(double margin) {
  if (steps_ < note_at_) return;
  if (!repairing_ && (energy_ >= best_energy_ - margin || !meter_->Keeps())) return;
  NoteIfBetter();
}

void Annealer::NoteIfBetter() {
  note_at_ = steps_ + movable_.size();
  if (!best_->Note(state_)) return;
  // Exact again: sums of many changes are not.
  energy_ = best_energy_ = course_.Energy(best_->score());
  if (repairing_) meter_->Settle();
}

void Annealer::FollowSlopes() {
  LevelWeights parts{};
  for (size_t l = 0; l < parts.size(); ++l) {
    parts[l] = temperature_ > course_.frozen[l] ? kSlope : 0;
  }
  meter_->FollowSlopes(parts);
}

void Annealer::TryMove() {
  const ObjectId o = Draw();
  const ContainerId home = state_.problem().start[o];
  const bool back = home.valid() && state_.Moved(o) && random_.Fraction() < kHomeShare;
  const ContainerId to = back ? home : ContainerId(random_.Below(state_.problem().containers));
  if (to == state_.where(o)) return;
  const double limit = Limit();
  if (meter_->OfMove(o, to, limit) > limit) return;
  energy_ += meter_->Move(o, to);
  NoteBest(temperature_);
}

// Where only moves cost anything, often one that stays where `a` would be at home: the two change
// roles, and no more objects are away than before.
ObjectId Annealer::Partner(ObjectId a) {
  const ContainerId home = state_.problem().start[a];
  if (saving_ && home.valid() && state_.Moved(a) && random_.Next() >> 63 == 0) {
    const auto on = state_.On(home);
    if (!on.empty()) {
      const ObjectId b = on[random_.Below(on.size())];
      if (state_.MayMove(b)) return b;
    }
  }
  return movable_[random_.Below(movable_.size())];
}

void Annealer::TrySwap() {
  const ObjectId a = Draw();
  const ObjectId b = Partner(a);
  const ContainerId at_a = state_.where(a);
  const ContainerId at_b = state_.where(b);
  if (at_a == at_b) return;
  const double limit = Limit();
  if (meter_->OfSwap(a, b, limit) > limit) return;
  energy_ += meter_->Move(a, at_b);
  energy_ += meter_->Move(b, at_a);
  NoteBest(temperature_);
}

void Annealer::BackToBest() {
  const auto& where = best_->where();
  // Objects that were seated in vain stand up again.
  const bool unseats =
      std::any_of(movable_.begin(), movable_.end(), [&](ObjectId o) { return !where[o].valid(); });
  for (ObjectId o : movable_) {
    if (state_.where(o) == where[o]) continue;
    if (unseats) {
      state_.Move(o, where[o]);
    } else {
      meter_->Move(o, where[o]);
    }
  }
  if (unseats) {
    Collect();
    favoured_.clear();
    favour_at_ = 0;
    MakeMeter();
  }
  energy_ = best_energy_ = course_.Energy(best_->score());
  kept_at_ = progress_;
}

bool Annealer::Repaired() const {
  const Score& best = best_->score();
  return best[kConstraintLevel] <= kTolerance && best[kUnplacedLevel] <= unplaced_ + kTolerance;
}

// With or without success.
void Annealer::EndRepair() {
  repairing_ = false;
  // For so many there was no room: the next annealing tries fewer.
  if (!Repaired() && seated_ > 0) most_seated_ = std::max(1U, seated_ / 2);
  BackToBest();
}

void Annealer::Try(uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i, ++steps_) {
    if (random_.Next() >> 63 == 0) {
      TryMove();
    } else {
      TrySwap();
    }
  }
  NoteBest(kTolerance);
}

// Most of it once, and not for each stretch of an annealing: it looks at all objects.
void Annealer::Prepare(const AnnealOptions& options) {
  const bool first = !meter_;
  if (first) {
    seated_ = SeatUnplaced(state_, most_seated_);
    Collect();
  }
  const double objects = std::max<double>(1, static_cast<double>(movable_.size()));
  steps_per_object_ = AllSteps(options) / objects;
  if (first && !movable_.empty()) Begin(options);
}

void Annealer::MakeMeter() {
  meter_.emplace(state_, course_.weights, std::max(course_.Energy(bad_), 1e-6));
}

void Annealer::Begin(const AnnealOptions& options) {
  const Score now = state_.Total();
  for (int l = 0; l < kLevels; ++l) bad_[l] = std::max(bad_[l], now[l]);
  course_ = CourseFor(state_, bad_, random_);
  if (now.OnlyMovement()) {
    course_.ForMoves(
        now, static_cast<double>(std::count_if(movable_.begin(), movable_.end(), [&](ObjectId o) {
          return state_.Moved(o) && state_.problem().start[o].valid();
        })));
  }
  best_energy_ = course_.Energy(best_->score());
  energy_ = course_.Energy(now);
  MakeMeter();
  gone_back_ = false;
  progress_ = options.progress;
  kept_at_ = options.progress;
  note_at_ = favour_at_ = 0;
  unplaced_ = now[kUnplacedLevel];
  repairing_ = !Repaired();
  saving_ = best_->score().OnlyMovement();
}

void Annealer::TurnTo(const AnnealOptions& options, double progress, uint64_t steps_left) {
  const double before = progress_;
  progress_ = progress;
  const auto passes = [&](double at) { return before < at && progress >= at; };
  const bool kept = meter_->Keeps();
  if (kept || progress < kSlackEnds) kept_at_ = progress;
  if (passes(kQuench) && kept) NoteIfBetter();
  const bool back = progress - kept_at_ > kLasts || (!kept && progress >= kLastTurn) ||
                    (passes(kQuench) && energy_ > kNear * best_energy_);
  if (repairing_) {
    if (Repaired() || progress >= kRepairEnds) EndRepair();
  } else if (back) {
    BackToBest();
    gone_back_ = true;
  }
  // Not at the very end: it takes as many steps as there are objects.
  const bool time = options.progress_after < 1 || steps_left >= movable_.size();
  if ((repairing_ || saving_) && time && steps_ >= favour_at_) CollectFavoured();
  const double steps_for_ties = kStepsForTies * static_cast<double>(movable_.size());
  meter_->KeepTies(!repairing_ && (gone_back_ || steps_per_object_ < steps_for_ties));
  temperature_ = Temperature(options);
  FollowSlopes();
}

void Annealer::Run(const AnnealOptions& options, Best& best) {
  best_ = &best;
  if (options.anew) Forget();
  Prepare(options);
  if (movable_.empty() || state_.problem().containers < 2) return;
  const uint64_t begin = AllStepsSoFar();
  for (uint64_t done = 0; done < options.steps; done = AllStepsSoFar() - begin) {
    const double part = static_cast<double>(done) / static_cast<double>(options.steps);
    TurnTo(options, options.progress + (options.progress_after - options.progress) * part,
           options.steps - done);
    done = AllStepsSoFar() - begin;
    if (movable_.empty()) return;  // none of those that were seated had a place
    if (done < options.steps) Try(std::min(kStride, options.steps - done));
    meter_->AdjustPrices(Policy(options));
  }
  if (options.progress_after < 1) return;
  note_at_ = 0;
  NoteBest(kTolerance);
}

}  // namespace shardmanager::solver
