// Orders that leave no other trace, as events.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "orchestrator/shell/change_outcome.h"
#include "orchestrator/shell/event_log.h"

namespace shardmanager::orchestrator {

// What was asked, and by whom.
struct Asked {
  const char* kind;
  std::string what;
  std::string who;  // "": an operator
};

// The reply, and the event if what was asked for is done. `wanted`: not of a preview.
template <typename Response>
std::function<void(absl::StatusOr<Response>)> Recording(
    EventLog& events, std::function<void(absl::StatusOr<Response>)> reply, Asked asked,
    const Wanted& wanted) {
  return [&events, reply = std::move(reply), asked,
          done = !wanted.is_preview()](absl::StatusOr<Response> response) {
    if (response.ok() && done) {
      events.Record(asked.kind,
                    asked.what + ", by " + (asked.who.empty() ? "an operator" : asked.who));
    }
    reply(std::move(response));
  };
}

}  // namespace shardmanager::orchestrator
