#include "orchestrator/control/orders/moves.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/asked_moves.h"
#include "orchestrator/describe/explain_status.h"

namespace shardmanager::orchestrator {
namespace {

// Of several replicas the one that the rules would rather move is chosen later.
absl::StatusOr<ServerIndex> FindSource(const PartitionState& state,
                                       const v1::MoveShardRequest& request, ShardIndex shard) {
  if (request.from().empty()) return ServerIndex();
  const ServerIndex from = state.tables.FindServer(request.from());
  if (from.valid() && state.tables.FindReplica(shard, from).valid()) return from;
  return absl::NotFoundError(absl::StrCat("from: server ", Quoted(request.from()),
                                          " has no replica of shard ", Quoted(request.shard())));
}

absl::Status MayMove(const PartitionState& state, const v1::MoveShardRequest& request,
                     ShardIndex shard, const allocator::Candidate& candidate) {
  const std::string what =
      absl::StrCat("shard ", Quoted(request.shard()), " is not moved to ", request.to(), ": ");
  const bool holds = candidate.verdict == allocator::Verdict::kHolds;
  if (holds || candidate.verdict == allocator::Verdict::kRefused) {
    return absl::FailedPreconditionError(absl::StrCat(what, WhyThere(state, candidate)));
  }
  if (!candidate.from.valid() && !Mirrors(state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        what, "a replica of the shard is missing; `shardctl explain` says what it waits for"));
  }
  const std::string why =
      WhyNotMoved(state, {.shard = shard, .from = candidate.from, .to = candidate.server});
  return why.empty() ? absl::OkStatus() : absl::FailedPreconditionError(absl::StrCat(what, why));
}

// The rules have answered: `candidate` is the server that is to have the replica.
absl::StatusOr<v1::MoveShardResponse> MoveAs(const MoveContext& context, PartitionDriver& driver,
                                             const v1::MoveShardRequest& request, ShardIndex shard,
                                             const allocator::Candidate& candidate) {
  const PartitionState& state = *driver.state();
  if (absl::Status may = MayMove(state, request, shard, candidate); !may.ok()) return may;
  v1::MoveShardResponse response;
  response.set_from(state.tables.name(candidate.from));
  response.set_verdict(std::string(allocator::ToString(candidate.verdict)));
  response.set_reason(candidate.reason);
  context.wanted.Note({absl::StrCat("- replica on ", response.from()),
                       absl::StrCat("+ replica on ", request.to())});
  if (context.wanted.is_preview()) {
    context.wanted.NoteConsequence(
        absl::StrCat(response.verdict(), " for the goals of the placement: ", response.reason()));
    return response;
  }
  driver.Hear(
      MoveAsked{request.shard(), response.from(), request.to(), context.wanted.operation()});
  return response;
}

}  // namespace

void OrderMove(const MoveContext& context, const v1::MoveShardRequest& request,
               std::function<void(absl::StatusOr<v1::MoveShardResponse>)> reply) {
  const auto app = FindToLookAt(context.rules.apps, request.app());
  if (!app.ok()) return reply(app.status());
  if (request.to().empty()) return reply(absl::InvalidArgumentError("to: REQUIRED"));
  const PartitionState& state = *(*app)->state();
  v1::ExplainShardRequest question;
  question.set_app(request.app());
  question.set_shard(request.shard());
  question.set_server(request.to());
  const auto subject = FindSubject(state, question);
  if (!subject.ok()) return reply(subject.status());
  const auto from = FindSource(state, request, subject->shard);
  if (!from.ok()) return reply(from.status());
  if (Mirrors(state)) {  // there is nothing to ask the rules
    return reply(
        MayMove(state, request, subject->shard, {.server = subject->server, .from = *from}));
  }
  AskRules(
      context.rules, request.app(),
      std::make_shared<const allocator::Snapshot>(ExplainSnapshot(state, subject->shard)),
      {.only = subject->server, .from = *from, .most_candidates = 1},
      [context, request, reply, shard = subject->shard](const absl::StatusOr<RulesAnswer>& answer) {
        if (!answer.ok()) return reply(answer.status());
        const auto& candidates = answer->explanation.candidates;
        if (candidates.empty()) {
          return reply(absl::InternalError("the rules say nothing of the server"));
        }
        reply(MoveAs(context, answer->app, request, shard, candidates.front()));
      });
}

absl::Status OrderQuarantineLifted(LedApps& apps, const v1::LiftQuarantineRequest& request,
                                   const Wanted& wanted) {
  const auto app = FindToLookAt(apps, request.app());
  if (!app.ok()) return app.status();
  const PartitionState& state = *(*app)->state();
  const ServerIndex server = state.tables.FindServer(request.server());
  if (!server.valid()) {
    return absl::NotFoundError(
        absl::StrCat("app ", Quoted(request.app()), " has no server ", Quoted(request.server())));
  }
  const Quarantine::Case* found = state.failures.quarantine.Find(server);
  if (found == nullptr || !found->sick) {
    return absl::FailedPreconditionError(
        absl::StrCat("server ", Quoted(request.server()), " is not quarantined"));
  }
  wanted.Note({"- it is given nothing new, but for a trial", "+ it is given shards again"});
  wanted.NoteConsequence(absl::StrCat(
      "if shards fail on it again, it is quarantined again; the last error was: ", found->error));
  if (!wanted.is_preview()) (*app)->Hear(QuarantineLifted{request.server()});
  return absl::OkStatus();
}

}  // namespace shardmanager::orchestrator
