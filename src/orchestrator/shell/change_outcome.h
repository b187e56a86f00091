// What is said of a change that an operator asked for and the store did not simply make.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "coordination/store.h"

namespace shardmanager::orchestrator {

// Does somebody still wait for the outcome of a change? Asked before a write, and before a write
// that was lost is repeated: a change is not made for a caller that has gone and has reported a
// failure. Thread-safe; empty: yes.
using Wanted = std::function<bool()>;
inline bool IsWanted(const Wanted& wanted) { return !wanted || wanted(); }

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
