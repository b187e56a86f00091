#include "taskcontroller/describe/rollouts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "taskcontroller/describe/forecast.h"

namespace shardmanager::taskcontroller {
namespace {

using Answers = std::map<OperationKey, v1::OperationAnswer>;

constexpr size_t kMostDelays = 3;

// What is left of one rollout, and what is in its way.
struct Remainder {
  uint32_t waiting = 0;
  uint32_t preparing = 0;
  uint32_t approved = 0;
  uint32_t begun = 0;
  std::set<v1::OperationKind> kinds;
  Duration expected{};                             // by the manager, of all that is left, added
  std::optional<TimePoint> youngest_since;         // of those under way
  std::map<std::string, v1::RolloutDelay> delays;  // by reason

  uint32_t under_way() const { return preparing + approved + begun; }
  uint32_t left() const { return waiting + under_way(); }
};

// 0 says that nothing is left.
int64_t InMs(const Forecast& forecast, bool something_is_left) {
  if (!forecast.ends_in) return -1;
  return std::max<int64_t>(something_is_left ? 1 : 0, *forecast.ends_in / Milliseconds(1));
}

int64_t MsSince(TimePoint then, TimePoint now) { return (now - then) / Milliseconds(1); }

class RolloutDescriber {
 public:
  RolloutDescriber(const HeldOperations& held, const ReportBook& reports, const Answers& answers,
                   const RolloutBook& book, TimePoint now)
      : held_(held), reports_(reports), answers_(answers), book_(book), now_(now) {
    for (const auto& [key, rollout] : book_.rollouts()) rollouts_[key];
    reports_.ForEach([this](const OperationKey& key, const WantedOperation& wanted) {
      if (wanted.reported.NeedsApproval() && !held_.contains(key)) AddWaiting(key, wanted);
    });
    for (const auto& [key, operation] : held_) AddHeld(key, operation);
  }

  std::vector<v1::RolloutStatus> Describe() const {
    const WorkLeft work = AllWork();
    std::vector<v1::RolloutStatus> all;
    all.reserve(rollouts_.size());
    for (const auto& [key, remainder] : rollouts_) {
      v1::RolloutStatus& status = all.emplace_back();
      status.set_manager(key.manager);
      status.set_name(key.name);
      status.set_at_once(book_.at_once());
      status.set_seen_for_ms(MsSince(book_.begun_at(), now_));
      DescribeRemainder(remainder, status);
      DescribePast(key, remainder, status);
      const Forecast forecast = ForecastOfOne(key, remainder, work);
      status.set_ends_in_ms(InMs(forecast, remainder.left() > 0));
      status.set_forecast_reason(forecast.reason);
    }
    return all;
  }

 private:
  void AddWaiting(const OperationKey& key, const WantedOperation& wanted) {
    Remainder& remainder = rollouts_[RolloutOf(key)];
    ++remainder.waiting;
    Add(wanted.reported.info, remainder);
    AddDelay(key, remainder);
  }

  void AddHeld(const OperationKey& key, const HeldOperation& operation) {
    Remainder& remainder = rollouts_[RolloutOf(key)];
    remainder.preparing += operation.stage == HeldStage::kPreparing;
    remainder.approved += operation.stage == HeldStage::kApproved;
    remainder.begun += operation.stage == HeldStage::kBegun;
    Add(operation.info, remainder);
    if (operation.stage == HeldStage::kPreparing) AddDelay(key, remainder);
    const TimePoint since = book_.UnderWaySince(key).value_or(operation.since);
    remainder.youngest_since = std::max(remainder.youngest_since.value_or(since), since);
  }

  static void Add(const OperationInfo& info, Remainder& remainder) {
    remainder.kinds.insert(info.kind);
    remainder.expected += info.expected;
  }

  void AddDelay(const OperationKey& key, Remainder& remainder) {
    const auto answer = answers_.find(key);
    if (answer == answers_.end() || answer->second.delays().empty()) return;
    const v1::OperationDelay& first = answer->second.delays(0);
    v1::RolloutDelay& delay = remainder.delays[first.reason()];
    if (delay.operations() == 0) {
      delay.set_reason(first.reason());
      delay.set_message(first.message());
    }
    delay.set_operations(delay.operations() + 1);
  }

  const Rollout* Known(const RolloutKey& key) const {
    const auto found = book_.rollouts().find(key);
    return found == book_.rollouts().end() ? nullptr : &found->second;
  }

  // Over all rollouts: they share the limits of the app.
  WorkLeft AllWork() const {
    WorkLeft work{.mean_at_once = book_.mean_at_once(),
                  .may_be_at_once = book_.at_once(),
                  .held_back = book_.held_back()};
    for (const auto& [key, remainder] : rollouts_) {
      const Rollout* known = Known(key);
      if (known != nullptr) NoteProgress(known->progress_at, work);
      NoteProgress(remainder.youngest_since, work);
      if (remainder.left() == 0 || reports_.IsSilent(key.manager, now_)) continue;
      AddWork(remainder, known, work);
    }
    return work;
  }

  void NoteProgress(std::optional<TimePoint> at, WorkLeft& work) const {
    if (!at) return;
    const Duration ago = now_ - *at;
    work.no_progress_for = std::min(work.no_progress_for.value_or(ago), ago);
  }

  void AddWork(const Remainder& remainder, const Rollout* known, WorkLeft& work) const {
    const std::optional<Duration> mean = known == nullptr ? std::nullopt : known->mean();
    const Duration usual = mean.value_or(remainder.expected / remainder.left());
    work.measured = work.measured && mean.has_value();
    work.usual_times += usual * remainder.left();
    work.longest_usual = std::max(work.longest_usual, usual);
    if (remainder.youngest_since) {
      const Duration ends_in = *remainder.youngest_since + usual - now_;
      work.last_ends_in = work.under_way == 0 ? ends_in : std::max(work.last_ends_in, ends_in);
    }
    work.under_way += remainder.under_way();
    work.waiting += remainder.waiting;
  }

  Forecast ForecastOfOne(const RolloutKey& key, const Remainder& remainder,
                         const WorkLeft& work) const {
    if (remainder.left() == 0) return {Duration(0), "nothing is left of it"};
    if (!reports_.IsSilent(key.manager, now_)) return ForecastOf(work);
    const Manager* manager = reports_.Find(key.manager);
    if (manager == nullptr) {
      return {std::nullopt, "its manager was not heard since the leader took over"};
    }
    return {std::nullopt,
            absl::StrCat("its manager was not heard for ", SpanText(now_ - manager->heard_at))};
  }

  static void DescribeRemainder(const Remainder& remainder, v1::RolloutStatus& status) {
    status.set_waiting(remainder.waiting);
    status.set_preparing(remainder.preparing);
    status.set_approved(remainder.approved);
    status.set_begun(remainder.begun);
    std::vector<const v1::RolloutDelay*> delays;
    for (const auto& [reason, delay] : remainder.delays) delays.push_back(&delay);
    std::stable_sort(delays.begin(), delays.end(), [](const auto* a, const auto* b) {
      return a->operations() > b->operations();
    });
    delays.resize(std::min(delays.size(), kMostDelays));
    for (const v1::RolloutDelay* delay : delays) *status.add_delays() = *delay;
  }

  void DescribePast(const RolloutKey& key, const Remainder& remainder,
                    v1::RolloutStatus& status) const {
    std::set<v1::OperationKind> kinds = remainder.kinds;
    const Rollout* known = Known(key);
    status.set_progress_ms(-1);
    status.set_mean_ms(-1);
    if (known != nullptr) {
      kinds.insert(known->kinds.begin(), known->kinds.end());
      status.set_finished(known->finished);
      status.set_began_ms(MsSince(known->began_at, now_));
      if (known->progress_at) status.set_progress_ms(MsSince(*known->progress_at, now_));
      if (const auto mean = known->mean()) status.set_mean_ms(*mean / Milliseconds(1));
    }
    if (kinds.size() == 1) status.set_kind(*kinds.begin());
  }

  const HeldOperations& held_;
  const ReportBook& reports_;
  const Answers& answers_;
  const RolloutBook& book_;
  const TimePoint now_;
  std::map<RolloutKey, Remainder> rollouts_;
};

}  // namespace

std::vector<v1::RolloutStatus> DescribeRollouts(
    const HeldOperations& held, const ReportBook& reports,
    const std::map<OperationKey, v1::OperationAnswer>& answers, const RolloutBook& book,
    TimePoint now) {
  return RolloutDescriber(held, reports, answers, book, now).Describe();
}

}  // namespace shardmanager::taskcontroller
