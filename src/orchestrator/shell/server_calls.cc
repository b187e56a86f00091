#include "orchestrator/shell/server_calls.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "orchestrator/decide/view.h"
#include "runtime/clock.h"

namespace shardmanager::orchestrator {

ServerAddress ServerCalls::AddressOf(ServerIndex server, Incarnation incarnation) const {
  const Tables& tables = context_.state.tables;
  return {context_.app, ServerName(tables.name(server)), incarnation, context_.leader_epoch,
          tables.server(server).location.endpoint};
}

Members ServerCalls::Named(const std::vector<ServerIndex>& servers) const {
  const Tables& tables = context_.state.tables;
  Members members;
  for (ServerIndex id : servers) {
    members.push_back({ServerName(tables.name(id)), tables.server(id).location.endpoint});
  }
  std::sort(members.begin(), members.end(),
            [](const Peer& a, const Peer& b) { return a.server < b.server; });
  return members;
}

// Of a shard that was split or merged.
void ServerCalls::AddOrigin(const Grant& grant, NamedGrant& named) const {
  const Tables& tables = context_.state.tables;
  const uint32_t at = tables.shard(grant.shard).map_index;
  for (const ShardIndex shard : grant.made_of) named.made_of.emplace_back(tables.name(shard));
  if (grant.made_of.empty() || at == Shard::kNotInMap) return;
  const LayoutShard& entry = context_.state.layout[at];
  named.range.set_start(entry.start);
  named.range.set_end(entry.end);
  named.hash_keys = entry.hashed;
}

std::vector<NamedGrant> ServerCalls::Named(const std::vector<Grant>& grants) const {
  std::vector<NamedGrant> named;
  named.reserve(grants.size());
  for (const Grant& g : grants) {
    named.push_back({ShardId(context_.state.tables.name(g.shard)), g.role, g.epoch, g.next_epoch});
    AddOrigin(g, named.back());
    named.back().operation = OperationOf(context_.state, g.shard);
    if (g.members.empty()) continue;
    named.back().members = Named(g.members);
    named.back().members_version = g.members_version;
  }
  return named;
}

void ServerCalls::Send(const SendCommands& action) {
  const Tables& tables = context_.state.tables;
  ServerCommand command{.kind = action.kind, .grants = Named(action.grants)};
  if (action.other.valid()) {
    command.other = {ServerName(tables.name(action.other)),
                     tables.server(action.other).location.endpoint};
  }
  spdlog::debug("app {}: {} {} shards at {}", context_.app.value(), ToString(action.kind),
                command.grants.size(), tables.name(action.server));
  const bool believes =
      (Planted(Defect::kDropNotAwaited) && action.kind == CommandKind::kDrop) ||
      (Planted(Defect::kPromotesEarly) && action.kind == CommandKind::kChangeRole);
  if (believes) {
    for (const Grant& g : action.grants) {
      context_.post([this, result = CommandResult{action.kind, CommandOutcome::kDone, action.server,
                                                  action.incarnation, g.shard, g.epoch}] {
        context_.handle(result);
      });
    }
  }
  context_.sender.Send(
      AddressOf(action.server, action.incarnation), std::move(command),
      Milliseconds(context_.state.spec.commands().timeout_ms()),
      [this, post = context_.post, server = action.server, incarnation = action.incarnation,
       kind = action.kind, sent_at = MonotonicNow()](std::vector<NamedResult> results) {
        post([=, this, results = std::move(results)] {
          Measure(kind, results, sent_at);
          OnResults(server, incarnation, kind, results);
        });
      });
}

void ServerCalls::Measure(CommandKind kind, const std::vector<NamedResult>& results,
                          TimePoint sent_at) const {
  if (context_.meter == nullptr) return;
  const Duration took = MonotonicNow() - sent_at;
  for (const NamedResult& result : results) {
    if (result.outcome == CommandOutcome::kLoading) continue;
    context_.meter->Commanded(kind, result.outcome, took);
  }
}

void ServerCalls::OnResults(ServerIndex server, Incarnation incarnation, CommandKind kind,
                            std::vector<NamedResult> results) {
  for (NamedResult& r : results) {
    const ShardIndex shard = context_.state.tables.FindShard(r.shard.value());
    if (!shard.valid()) continue;
    context_.handle(CommandResult{kind, r.outcome, server, incarnation, shard, r.epoch,
                                  static_cast<float>(r.progress), std::move(r.error),
                                  r.serving_epoch});
  }
}

void ServerCalls::Ask(const Collect& action) {
  context_.sender.Collect(AddressOf(action.server, action.incarnation),
                          [this, post = context_.post, server = action.server,
                           incarnation = action.incarnation](absl::StatusOr<Holdings> holdings) {
                            ServerReport report{
                                .server = server, .incarnation = incarnation, .ok = holdings.ok()};
                            if (holdings.ok()) {
                              report.held = std::move(holdings->held);
                              report.capacity = std::move(holdings->capacity);
                              report.traffic = std::move(holdings->traffic);
                            }
                            post([this, report = std::move(report)] { context_.handle(report); });
                          });
}

void ServerCalls::AskReshape(const v1::Reshape& reshape, std::function<void(absl::Status)> done) {
  const Tables& tables = context_.state.tables;
  std::set<ServerIndex> holders;
  for (const v1::Shard& shard : reshape.from()) {
    const ShardIndex id = tables.FindShard(shard.id());
    if (!id.valid()) continue;
    tables.ForEach(id, [&](ReplicaIndex, const Replica& r) { holders.insert(r.server); });
  }
  if (holders.empty()) return done(absl::OkStatus());
  struct Poll {
    size_t open;
    absl::Status answer;  // the first that is not OK
    std::function<void(absl::Status)> done;
  };
  auto poll = std::make_shared<Poll>(Poll{holders.size(), absl::OkStatus(), std::move(done)});
  for (const ServerIndex server : holders) {
    const Incarnation life = tables.server(server).incarnation;
    context_.sender.AskReshape(
        AddressOf(server, life), reshape,
        [post = context_.post, poll, name = tables.name(server)](const absl::Status& answer) {
          post([poll, name, answer] {
            if (!answer.ok() && poll->answer.ok()) {
              poll->answer = absl::FailedPreconditionError(
                  absl::StrCat("server ", name, " does not agree: ", answer.ToString()));
            }
            if (--poll->open == 0) poll->done(poll->answer);
          });
        });
  }
}

}  // namespace shardmanager::orchestrator
