#include "orchestrator/control/levers.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/control/orders/forgetting.h"
#include "orchestrator/control/orders/moves.h"
#include "orchestrator/describe/explain_status.h"

namespace shardmanager::orchestrator {

void Levers::RetryShard(v1::RetryShardRequest request, Reply<v1::RetryShardResponse> reply,
                        Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const auto app = FindToLookAt(context_.apps, request.app());
    if (!app.ok()) return reply(app.status());
    const PartitionState& state = *(*app)->state();
    const ShardIndex shard = state.tables.FindShard(request.shard());
    if (!shard.valid() || state.tables.shard(shard).map_index == Shard::kNotInMap) {
      return reply(absl::NotFoundError(
          absl::StrCat("app \"", request.app(), "\" has no shard \"", request.shard(), "\"")));
    }
    wanted.Note({"+ what failed is tried again now; nothing is stored"});
    if (wanted.is_preview()) {
      const TimePoint now = context_.executor.Now();
      for (const std::string& wait : DescribeWaits(state, shard, now)) {
        wanted.NoteConsequence("now: " + wait);
      }
      return reply(v1::RetryShardResponse());
    }
    (*app)->Hear(RetryAsked{request.shard()});
    reply(v1::RetryShardResponse());
  });
}

void Levers::MoveShard(v1::MoveShardRequest request, Reply<v1::MoveShardResponse> reply,
                       Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const auto may_change = [this, wanted] { return thread_.MayChange(wanted); };
    OrderMove({{context_.apps, context_.executor, context_.solver, may_change}, wanted}, request,
              reply);
  });
}

void Levers::LiftQuarantine(v1::LiftQuarantineRequest request,
                            Reply<v1::LiftQuarantineResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const absl::Status done = OrderQuarantineLifted(context_.apps, request, wanted);
    if (!done.ok()) return reply(done);
    reply(v1::LiftQuarantineResponse());
  });
}

void Levers::ForgetServer(v1::ForgetServerRequest request, Reply<v1::ForgetServerResponse> reply,
                          Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    OrderForgotten(context_.apps, context_.executor.Now(), request, reply, wanted);
  });
}

}  // namespace shardmanager::orchestrator
