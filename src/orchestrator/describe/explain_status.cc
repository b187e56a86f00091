#include "orchestrator/describe/explain_status.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/load.h"
#include "model/text.h"
#include "orchestrator/decide/load/loads.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/waits.h"
#include "orchestrator/describe/servers.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/describe/waits.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kDefaultCandidates = 5;
constexpr uint32_t kMostCandidates = 100;

void AddArguments(const std::vector<allocator::Argument>& arguments,
                  google::protobuf::RepeatedPtrField<v1::ShardArgument>& out) {
  for (const allocator::Argument& argument : arguments) {
    v1::ShardArgument& added = *out.Add();
    added.set_goal(argument.goal);
    added.set_rule(argument.rule);
    added.set_cost(argument.cost);
    added.set_cost_now(argument.cost_now);
  }
}

void AddServerUse(const PartitionState& state, ServerIndex id,
                  google::protobuf::RepeatedPtrField<v1::MetricUse>& out) {
  const Server& server = state.tables.server(id);
  v1::MetricUse& count = *out.Add();
  count.set_metric(kReplicaCountMetric);
  count.set_used(static_cast<double>(server.replicas.size()));
  count.set_capacity(ReplicaCapacity(state, id));
  for (size_t m = 0; m < state.loads.metrics.size(); ++m) {
    *out.Add() = DescribeUse(state, id, m);
  }
}

v1::ExplainedReplica DescribeReplica(const PartitionState& state, ShardIndex shard,
                                     const allocator::ExplainedReplica& replica) {
  v1::ExplainedReplica out;
  if (!replica.server.valid()) return out;
  out.set_server(state.tables.name(replica.server));
  AddArguments(replica.arguments, *out.mutable_arguments());
  const ReplicaIndex id = state.tables.FindReplica(shard, replica.server);
  for (size_t m = 0; id.valid() && m < state.loads.metrics.size(); ++m) {
    v1::MetricUse& load = *out.add_loads();
    load.set_metric(state.loads.metrics[m]);
    load.set_used(ReplicaLoad(state, id, m));
  }
  return out;
}

// Of a server that has no room: how much is used, of what, and whose limit that is.
std::string Shortage(const PartitionState& state, const allocator::Candidate& candidate) {
  if (candidate.short_of.empty()) return "";
  const Server& server = state.tables.server(candidate.server);
  if (candidate.short_of == kReplicaCountMetric) {
    const uint32_t most = ReplicaCapacity(state, candidate.server);
    if (most == 0) return "";
    return absl::StrCat("; it has ", Counted(server.replicas.size(), "replica"), ", and may have ",
                        most,
                        most == server.capacity ? " (the capacity that it registered)"
                                                : " (placement.max_replicas_per_server)");
  }
  for (size_t m = 0; m < state.loads.metrics.size(); ++m) {
    if (state.loads.metrics[m] != candidate.short_of) continue;
    const v1::MetricUse use = DescribeUse(state, candidate.server, m);
    return absl::StrFormat("; %.4g of its %.4g %s are used", use.used(), use.capacity(),
                           candidate.short_of);
  }
  return "";
}

v1::ExplainedCandidate DescribeCandidate(const PartitionState& state,
                                         const allocator::Candidate& candidate) {
  const Tables& tables = state.tables;
  v1::ExplainedCandidate out;
  out.set_server(tables.name(candidate.server));
  const FaultDomain& at = tables.server(candidate.server).location.fault_domain;
  out.mutable_fault_domain()->set_region(at.region);
  out.mutable_fault_domain()->set_datacenter(at.datacenter);
  out.mutable_fault_domain()->set_rack(at.rack);
  if (candidate.from.valid()) out.set_from(tables.name(candidate.from));
  out.set_verdict(std::string(allocator::ToString(candidate.verdict)));
  out.set_reason(WhyThere(state, candidate));
  AddArguments(candidate.arguments, *out.mutable_arguments());
  AddServerUse(state, candidate.server, *out.mutable_loads());
  return out;
}

absl::StatusOr<ServerIndex> FindCandidate(const PartitionState& state, const std::string& name) {
  const ServerIndex server = state.tables.FindServer(name);
  if (!server.valid()) return absl::NotFoundError(absl::StrCat("no server \"", name, "\""));
  if (state.tables.server(server).state != ServerState::kLive) {
    return absl::FailedPreconditionError(absl::StrCat(
        "server \"", name, "\" is not live: it can hold nothing. See `shardctl describe server ",
        name, "`"));
  }
  return server;
}

}  // namespace

absl::StatusOr<ExplainSubject> FindSubject(const PartitionState& state,
                                           const v1::ExplainShardRequest& request) {
  if (request.most_candidates() > kMostCandidates) {
    return absl::InvalidArgumentError(absl::StrCat("most_candidates: found ",
                                                   request.most_candidates(), "; allowed: 1 to ",
                                                   kMostCandidates, ", or 0: the default"));
  }
  ExplainSubject subject;
  subject.most_candidates =
      request.most_candidates() == 0 ? kDefaultCandidates : request.most_candidates();
  subject.shard = state.tables.FindShard(request.shard());
  if (!subject.shard.valid() || state.tables.shard(subject.shard).map_index == Shard::kNotInMap) {
    return absl::NotFoundError(
        absl::StrCat("app \"", request.app(), "\" has no shard \"", request.shard(), "\""));
  }
  if (request.server().empty()) return subject;
  auto server = FindCandidate(state, request.server());
  if (!server.ok()) return server.status();
  subject.server = *server;
  return subject;
}

std::vector<std::string> DescribeWaits(const PartitionState& state, ShardIndex shard,
                                       TimePoint now) {
  std::vector<std::string> sentences;
  for (const Wait& wait : WaitsOf(state, shard, now)) {
    sentences.push_back(Describe(state, wait, now));
  }
  return sentences;
}

std::string WhyThere(const PartitionState& state, const allocator::Candidate& candidate) {
  const std::string closed = candidate.closed ? WhyClosed(state, candidate.server) : "";
  if (!closed.empty()) return "it " + closed;
  return absl::StrCat(candidate.reason, Shortage(state, candidate));
}

v1::ExplainShardResponse DescribeExplanation(const PartitionState& state, TimePoint now,
                                             const ExplainSubject& subject,
                                             const allocator::Explanation& explanation) {
  v1::ExplainShardResponse out;
  const Shard& shard = state.tables.shard(subject.shard);
  if (shard.map_index != Shard::kNotInMap) {
    *out.mutable_shard() = DescribeShard(state, shard.map_index);
  }
  out.set_replicas_wanted(shard.wanted);
  for (const Wait& wait : WaitsOf(state, subject.shard, now)) {
    v1::Wait& added = *out.add_waits();
    added.set_reason(std::string(ToString(wait.reason)));
    added.set_message(Describe(state, wait, now));
    if (wait.server.valid()) added.set_server(state.tables.name(wait.server));
  }
  for (const allocator::ExplainedReplica& replica : explanation.replicas) {
    *out.add_replicas() = DescribeReplica(state, subject.shard, replica);
  }
  // By name, as everywhere; those without a place last.
  std::sort(out.mutable_replicas()->begin(), out.mutable_replicas()->end(),
            [](const auto& a, const auto& b) {
              return std::pair(a.server().empty(), a.server()) <
                     std::pair(b.server().empty(), b.server());
            });
  for (const allocator::Candidate& candidate : explanation.candidates) {
    *out.add_candidates() = DescribeCandidate(state, candidate);
  }
  out.set_servers_considered(explanation.servers_considered);
  for (const allocator::RefusedCount& refused : explanation.refused) {
    v1::RefusedCount& added = *out.add_refused();
    added.set_rule(refused.rule);
    added.set_servers(refused.servers);
  }
  out.set_balance(BalanceState(state, now));
  return out;
}

}  // namespace shardmanager::orchestrator
