// How long a descent goes on: so many steps, or until someone who has a clock says stop.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace shardmanager::solver {

class Patience {
 public:
  // True: enough. Asked about once in kStepsBetween steps.
  using Stop = std::function<bool()>;

  Patience() = default;
  // `end`: the number of steps at which it is over. `stop`: OPTIONAL.
  explicit Patience(uint64_t end, Stop stop = nullptr) : end_(end), stop_(std::move(stop)) {}

  bool Over(uint64_t steps) const {
    if (over_ || steps >= end_) return true;
    if (stop_ == nullptr || steps < ask_at_) return false;
    ask_at_ = steps + kStepsBetween;
    over_ = stop_();
    return over_;
  }
  uint64_t Left(uint64_t steps) const { return Over(steps) ? 0 : end_ - steps; }

 private:
  static constexpr uint64_t kStepsBetween = 512;

  uint64_t end_ = UINT64_MAX;
  Stop stop_;
  mutable uint64_t ask_at_ = 0;
  mutable bool over_ = false;
};

}  // namespace shardmanager::solver
