#include "taskcontroller/state/rollout_book.h"

#include <algorithm>
#include <utility>

namespace shardmanager::taskcontroller {

RolloutKey RolloutOf(const OperationKey& key) {
  const size_t slash = key.id.rfind('/');
  return {key.manager, slash == std::string::npos ? "" : key.id.substr(0, slash)};
}

void MeanAtOnce::Add(size_t operations, Duration time) {
  constexpr double kWindow = Seconds(600).count();
  const auto passed = static_cast<double>(time.count());
  operation_time_ += static_cast<double>(operations) * passed;
  time_ += passed;
  if (time_ <= kWindow) return;
  operation_time_ /= 2;
  time_ /= 2;
}

std::optional<double> MeanAtOnce::value() const {
  return time_ > 0 ? std::optional(operation_time_ / time_) : std::nullopt;
}

void RolloutBook::Begin(const HeldOperations& held, TimePoint now) {
  begun_at_ = noted_at_ = now;
  for (const auto& [key, operation] : held) {
    Touch(key, operation.info.kind, now);
    under_way_[key] = {.since = now, .stage = operation.stage};
  }
}

void RolloutBook::Note(const Concluded& concluded, const ReportBook& reports, TimePoint now) {
  if (measuring_) AddTime(now - noted_at_);
  if (rollouts_.size() >= kMostRollouts) {
    std::erase_if(rollouts_, [&](const auto& entry) { return entry.second.there_at < noted_at_; });
  }
  for (const OperationKey& key : concluded.finished) Finish(key, now);
  Follow(concluded.held, now);
  reports.ForEach([&](const OperationKey& key, const WantedOperation& wanted) {
    if (wanted.reported.NeedsApproval()) Touch(key, wanted.reported.info.kind, now);
  });
  Forget(now);
  at_once_ = concluded.at_once;
  held_back_ = concluded.held_back;
  Measure(concluded, reports, now);
  noted_at_ = now;
}

Rollout* RolloutBook::Touch(const OperationKey& key, v1::OperationKind kind, TimePoint now) {
  RolloutKey name = RolloutOf(key);
  auto found = rollouts_.find(name);
  if (found == rollouts_.end()) {
    if (rollouts_.size() >= kMostRollouts) return nullptr;
    found = rollouts_.emplace(std::move(name), Rollout{.began_at = now}).first;
  }
  found->second.kinds.insert(kind);
  found->second.there_at = now;
  return &found->second;
}

void RolloutBook::Finish(const OperationKey& key, TimePoint now) {
  const auto under_way = under_way_.extract(key);
  const auto rollout = rollouts_.find(RolloutOf(key));
  if (rollout == rollouts_.end()) return;
  ++rollout->second.finished;
  rollout->second.there_at = now;
  rollout->second.progress_at = now;
  if (under_way.empty() || !under_way.mapped().seen_from_the_start) return;
  ++rollout->second.timed;
  rollout->second.time += now - under_way.mapped().since;
}

// What goes on, what is new, and which stages were entered.
void RolloutBook::Follow(const HeldOperations& held, TimePoint now) {
  std::erase_if(under_way_, [&](const auto& entry) { return !held.contains(entry.first); });
  for (const auto& [key, operation] : held) {
    Rollout* rollout = Touch(key, operation.info.kind, now);
    const auto [found, is_new] = under_way_.try_emplace(
        key, UnderWay{.since = now, .stage = operation.stage, .seen_from_the_start = true});
    const bool went_on = is_new || operation.stage > found->second.stage;
    found->second.stage = operation.stage;
    const bool progress = went_on && operation.stage >= HeldStage::kApproved;
    if (progress && rollout != nullptr) rollout->progress_at = now;
  }
}

// Since the last decision.
void RolloutBook::AddTime(Duration time) {
  gap_ = working_ > 0 ? Duration(0) : gap_ + time;
  if (gap_ <= kMostGap) mean_.Add(working_, time);
}

// From the first operation under way until nothing is left: what waits for a server that loads, or
// for the next report, counts as time in which fewer are under way.
void RolloutBook::Measure(const Concluded& concluded, const ReportBook& reports, TimePoint now) {
  working_ = 0;
  for (const auto& [key, operation] : concluded.held) {
    working_ += !reports.IsSilent(key.manager, now);
  }
  size_t waiting = 0;
  for (const auto& [name, manager] : reports.managers()) {
    if (reports.IsSilent(name, now)) continue;
    for (const auto& [id, wanted] : manager.operations) {
      waiting += wanted.reported.NeedsApproval() && !concluded.held.contains({name, id});
    }
  }
  if (working_ + waiting == 0) mean_ = {};
  measuring_ = held_back_.empty() && (working_ > 0 || (measuring_ && waiting > 0));
}

void RolloutBook::Forget(TimePoint now) {
  std::erase_if(rollouts_,
                [&](const auto& entry) { return now - entry.second.there_at > kForgotten; });
}

std::optional<TimePoint> RolloutBook::UnderWaySince(const OperationKey& key) const {
  const auto found = under_way_.find(key);
  return found == under_way_.end() ? std::nullopt : std::optional(found->second.since);
}

double RolloutBook::mean_at_once() const {
  return mean_.value().value_or(static_cast<double>(working_));
}

}  // namespace shardmanager::taskcontroller
