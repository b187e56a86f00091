// What is said of a change that an operator asked for and the store did not simply make.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordination/store.h"
#include "orchestrator/shell/difference.h"

namespace shardmanager::orchestrator {

// Does somebody still wait for the outcome of a change? Asked before a write, and before a write
// that was lost is repeated: a change is not made for a caller that has gone and has reported a
// failure. Thread-safe; empty: yes.
class Wanted {
 public:
  Wanted() = default;
  template <std::predicate Waits>
  requires(!std::same_as<std::remove_cvref_t<Waits>, Wanted>)
      Wanted(Waits waits,  // NOLINT(google-explicit-constructor): a question is all that most have
             std::shared_ptr<Difference> difference = nullptr, std::string operation = {})
      : waits_(std::move(waits)),
        difference_(std::move(difference)),
        operation_(std::move(operation)) {}

  bool holds() const { return !waits_ || waits_(); }
  // What follows from the change carries it (ControlEvent.operation); "": it has none.
  const std::string& operation() const { return operation_; }
  // Where what the change comes to is written down, if anybody wants to know.
  void Note(const std::vector<std::string>& lines) const {
    if (difference_ != nullptr) difference_->Add(lines);
  }
  void NoteNone() const {
    if (difference_ != nullptr) difference_->SetNone();
  }
  bool is_noted() const { return difference_ != nullptr; }
  // Nothing is to be written, or done: only what it would come to is asked for.
  bool is_preview() const { return difference_ != nullptr && difference_->is_preview(); }
  void NoteConsequence(std::string sentence) const {
    if (difference_ != nullptr) difference_->AddConsequence(std::move(sentence));
  }

 private:
  std::function<bool()> waits_;
  std::shared_ptr<Difference> difference_;
  std::string operation_;
};
inline bool IsWanted(const Wanted& wanted) { return wanted.holds(); }

// CANCELLED.
absl::Status NobodyWaits();
// UNAVAILABLE: the connection broke before anything was written.
absl::Status NothingWasChanged();
// UNAVAILABLE: it broke before the store answered a write. `whether`: "the change happened";
// `how`: a sentence that says how to find out.
absl::Status OutcomeUnknown(std::string_view whether, std::string_view how);

// Of a write that checks first of all who leads. `unknown`: if the session has ended; `conflict`:
// what has happened if another check failed, and what to do.
absl::Status OutcomeOf(const WriteResult& result, const absl::Status& unknown,
                       std::string_view conflict);

}  // namespace shardmanager::orchestrator
