#include "orchestrator/control/orders/moves.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/explain.h"
#include "model/text.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/asked_moves.h"
#include "orchestrator/describe/explain_status.h"

namespace shardmanager::orchestrator {
namespace {

absl::StatusOr<PartitionDriver*> FindApp(LedApps& apps, const std::string& name) {
  PartitionDriver* driver = apps.Find(name);
  if (driver == nullptr) return apps.NoSuch(name);
  if (absl::Status may = MayLookAt(name, *driver); !may.ok()) return may;
  return driver;
}

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
  if (candidate.verdict == allocator::Verdict::kRefused) {
    return absl::FailedPreconditionError(absl::StrCat(what, WhyThere(state, candidate)));
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
  driver.Hear(MoveAsked{request.shard(), response.from(), request.to()});
  return response;
}

// A replica has to be somewhere for it to be moved: without one the rules say nothing of a move.
absl::Status MayAskRules(const PartitionState& state, const ExplainSubject& subject,
                         ServerIndex from) {
  if (state.tables.FindReplica(subject.shard, subject.server).valid()) {
    return absl::FailedPreconditionError(absl::StrCat("to: ", state.tables.name(subject.server),
                                                      " has a replica of the shard already"));
  }
  if (!from.valid() && !state.tables.shard(subject.shard).first.valid()) {
    return absl::FailedPreconditionError(
        "the shard has no replica that could be moved; `shardctl explain` says what it waits for");
  }
  return absl::OkStatus();
}

}  // namespace

void OrderMove(const MoveContext& context, const v1::MoveShardRequest& request,
               std::function<void(absl::StatusOr<v1::MoveShardResponse>)> reply) {
  const auto driver = FindApp(context.apps, request.app());
  if (!driver.ok()) return reply(driver.status());
  const PartitionState& state = *(*driver)->state();
  if (request.to().empty()) return reply(absl::InvalidArgumentError("to: REQUIRED"));
  v1::ExplainShardRequest question;
  question.set_app(request.app());
  question.set_shard(request.shard());
  question.set_server(request.to());
  const auto subject = FindSubject(state, question);
  if (!subject.ok()) return reply(subject.status());
  const auto from = FindSource(state, request, subject->shard);
  if (!from.ok()) return reply(from.status());
  if (absl::Status may = MayAskRules(state, *subject, *from); !may.ok()) return reply(may);
  if (Mirrors(state)) {
    return reply(absl::FailedPreconditionError(
        "the app's own orchestrator decides where replicas are (orchestrator: APPLICATION)"));
  }
  auto snapshot =
      std::make_shared<const allocator::Snapshot>(ExplainSnapshot(state, subject->shard));
  const allocator::ExplainOptions options{
      .only = subject->server, .from = *from, .most_candidates = 1};
  context.solver.Post([context, request, reply, snapshot, options, shard = subject->shard,
                       life = (*driver)->life()] {
    const allocator::Explanation explanation = allocator::Explain(*snapshot, options);
    context.executor.Post([context, request, reply, explanation, shard, life] {
      if (absl::Status may = context.may_change(); !may.ok()) return reply(may);
      const auto still = FindApp(context.apps, request.app());
      if (!still.ok()) return reply(still.status());
      if (life.expired() || explanation.candidates.size() != 1 ||
          !explanation.candidates.front().from.valid()) {
        return reply(
            absl::FailedPreconditionError("a replica of the shard is missing, or the app has "
                                          "changed meanwhile; `shardctl explain` "
                                          "says what the shard waits for"));
      }
      reply(MoveAs(context, **still, request, shard, explanation.candidates.front()));
    });
  });
}

absl::Status OrderQuarantineLifted(LedApps& apps, const v1::LiftQuarantineRequest& request,
                                   const Wanted& wanted) {
  const auto driver = FindApp(apps, request.app());
  if (!driver.ok()) return driver.status();
  const PartitionState& state = *(*driver)->state();
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
  wanted.NoteConsequence(
      absl::StrCat("if shards fail on it again, so is its quarantine; the last "
                   "one failed as follows: ",
                   found->error));
  if (!wanted.is_preview()) (*driver)->Hear(QuarantineLifted{request.server()});
  return absl::OkStatus();
}

}  // namespace shardmanager::orchestrator
