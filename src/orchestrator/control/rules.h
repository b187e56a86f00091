// The allocator's rules, asked about a shard of an app: on the solver's thread, as plans are made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/explain.h"
#include "orchestrator/control/led_apps.h"
#include "runtime/executor.h"

namespace shardmanager::orchestrator {

// What it needs of the process that leads.
struct RulesContext {
  LedApps& apps;
  Executor& executor;
  Executor& solver;
  // Why there is to be no answer; asked when the rules have given theirs.
  std::function<absl::Status()> may_answer;
};

// The app as it is by then, and what the rules say of the snapshot.
struct RulesAnswer {
  PartitionDriver& app;
  const allocator::Explanation& explanation;
};

// `app`: by name; FindToLookAt() has found it. `done` comes on the executor's thread; NOT_FOUND:
// the app is gone, or another one has its name.
void AskRules(const RulesContext& context, const std::string& app,
              std::shared_ptr<const allocator::Snapshot> snapshot,
              const allocator::ExplainOptions& options,
              std::function<void(absl::StatusOr<RulesAnswer>)> done);

}  // namespace shardmanager::orchestrator
