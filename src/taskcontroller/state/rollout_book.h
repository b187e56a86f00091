// How far the rollouts of an app are, as far as this leader has seen. A rollout is the operations
// of one cluster manager whose ids share what stands before the last "/" (task_control.proto).
// Starts are left out: nothing holds them back.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/report_book.h"

namespace shardmanager::taskcontroller {

struct RolloutKey {
  std::string manager;
  std::string name;  // empty: of all operations of the manager whose ids have no "/"
  friend auto operator<=>(const RolloutKey&, const RolloutKey&) = default;
};
RolloutKey RolloutOf(const OperationKey& key);

struct Rollout {
  std::set<v1::OperationKind> kinds;  // of all its operations so far
  TimePoint began_at{};               // this leader heard of it then
  TimePoint there_at{};               // an operation was reported, or held, last
  // An operation was approved, has begun or was finished last.
  std::optional<TimePoint> progress_at;
  uint32_t finished = 0;
  // Of these: those whose whole time under way this leader has seen, and that time, all together.
  uint32_t timed = 0;
  Duration time{};

  // How long an operation is under way. Nothing: not known yet.
  std::optional<Duration> mean() const {
    return timed == 0 ? std::nullopt : std::optional(time / timed);
  }
};

// What a decision that has become durable says to the book.
struct Concluded {
  const HeldOperations& held;                 // from now on
  const std::vector<OperationKey>& finished;  // Decision::finished
  uint32_t at_once = 0;                       // Decision::at_once
  const std::string& held_back;               // Decision::held_back
};

// A mean over some ten minutes; what was before counts less and less.
class MeanAtOnce {
 public:
  void Add(size_t operations, Duration time);
  // Nothing: no time has passed.
  std::optional<double> value() const;

 private:
  double operation_time_ = 0;  // in us, as `time_`
  double time_ = 0;
};

class RolloutBook {
 public:
  // So many rollouts are counted at most. Of more nothing is known but what is reported.
  static constexpr size_t kMostRollouts = 1'000;
  // A rollout of which nothing is reported or held any more is forgotten after that time, or when
  // there are too many.
  static constexpr Duration kForgotten = Seconds(3'600);

  // A gap in which nothing is under way counts in mean_at_once() as long as this: servers load, and
  // managers report. What takes longer is a standstill, which says nothing about the pace before
  // it.
  static constexpr Duration kMostGap = Seconds(60);

  // First call: this leader has taken over, and `held` was stored.
  void Begin(const HeldOperations& held, TimePoint now);
  // Call it for each decision once, in order.
  void Note(const Concluded& concluded, const ReportBook& reports, TimePoint now);

  TimePoint begun_at() const { return begun_at_; }
  const std::map<RolloutKey, Rollout>& rollouts() const { return rollouts_; }
  // The operation is under way (held) since then, or since the takeover. Nothing: it is not.
  std::optional<TimePoint> UnderWaySince(const OperationKey& key) const;
  // Of the last decision: as in Concluded.
  uint32_t at_once() const { return at_once_; }
  const std::string& held_back() const { return held_back_; }
  // How many operations were under way at once so far, on average: while some were under way or
  // waited, and nothing was held back. Managers that are silent do not count.
  double mean_at_once() const;

 private:
  struct UnderWay {
    TimePoint since{};
    HeldStage stage = HeldStage::kPreparing;
    bool seen_from_the_start = false;  // by this leader
  };

  // Null: there are too many.
  Rollout* Touch(const OperationKey& key, v1::OperationKind kind, TimePoint now);
  void Finish(const OperationKey& key, TimePoint now);
  void Follow(const HeldOperations& held, TimePoint now);
  void AddTime(Duration time);
  void Measure(const Concluded& concluded, const ReportBook& reports, TimePoint now);
  void Forget(TimePoint now);

  TimePoint begun_at_{};
  TimePoint noted_at_{};  // the last decision
  std::map<RolloutKey, Rollout> rollouts_;
  std::map<OperationKey, UnderWay> under_way_;
  uint32_t at_once_ = 0;
  std::string held_back_;
  MeanAtOnce mean_;
  bool measuring_ = false;  // the time until the next decision counts in `mean_`
  Duration gap_{};          // counted so far, since something was under way
  size_t working_ = 0;      // operations under way whose managers are not silent
};

}  // namespace shardmanager::taskcontroller
