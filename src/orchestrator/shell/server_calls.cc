#include "orchestrator/shell/server_calls.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/defect.h"

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

std::vector<NamedGrant> ServerCalls::Named(const std::vector<Grant>& grants) const {
  std::vector<NamedGrant> named;
  named.reserve(grants.size());
  for (const Grant& g : grants) {
    named.push_back({ShardId(context_.state.tables.name(g.shard)), g.role, g.epoch, g.next_epoch});
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
       kind = action.kind](std::vector<NamedResult> results) {
        post([=, this, results = std::move(results)] {
          OnResults(server, incarnation, kind, results);
        });
      });
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

}  // namespace shardmanager::orchestrator
