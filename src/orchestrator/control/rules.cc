#include "orchestrator/control/rules.h"

namespace shardmanager::orchestrator {

void AskRules(const RulesContext& context, const std::string& app,
              std::shared_ptr<const allocator::Snapshot> snapshot,
              const allocator::ExplainOptions& options,
              std::function<void(absl::StatusOr<RulesAnswer>)> done) {
  context.solver.Post([context, app, snapshot = std::move(snapshot), options,
                       done = std::move(done), life = context.apps.Find(app)->life()] {
    allocator::Explanation explanation = allocator::Explain(*snapshot, options);
    context.executor.Post([context, app, done, life, explanation = std::move(explanation)] {
      if (absl::Status may = context.may_answer(); !may.ok()) return done(may);
      PartitionDriver* still = life.expired() ? nullptr : context.apps.Find(app);
      if (still == nullptr) return done(context.apps.NoSuch(app));
      done(RulesAnswer{*still, explanation});
    });
  });
}

}  // namespace shardmanager::orchestrator
