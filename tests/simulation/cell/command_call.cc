#include "tests/simulation/cell/command_call.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {

using orchestrator::CommandOutcome;
using orchestrator::CommandSender;
using orchestrator::NamedGrant;
using orchestrator::NamedResult;
using orchestrator::ServerAddress;

constexpr Duration kCollectTimeout = Seconds(10);
// Who sent a message that was lost learns in so long at most that the connection is dead: the
// keepalive of ShardServerClient, ping_after + give_up.
constexpr Duration kLongestSilence = Seconds(15);

// One call of a command: every grant gets one final result.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(CallWires wires, const std::vector<NamedGrant>& grants,
       CommandSender::ResultsCallback on_results)
      : wires_(std::move(wires)), on_results_(std::move(on_results)) {
    for (const NamedGrant& grant : grants) open_[grant.shard] = grant.epoch;
  }

  void Start(const ServerAddress& to, server::Command command, Duration timeout) {
    wires_.caller->RunAfter(timeout, [self = shared_from_this()] { self->End("deadline"); });
    SimServer* server = wires_.server(to.endpoint);
    if (server == nullptr) {
      wires_.caller->RunAfter(wires_.network.Delay(),
                              [self = shared_from_this()] { self->End("connection refused"); });
      return;
    }
    Send(*server, to.endpoint, command);
    const auto again = [wires = wires_, endpoint = to.endpoint, command] {
      SimServer* found = wires.server(endpoint);
      if (found == nullptr) return;
      found->process()->Run([found, command] {
        found->Receive(
            command, [](const server::Reply&) {}, [](const absl::Status&) {});
      });
    };
    if (wires_.network.Lucky(wires_.network.habits.duplication)) {
      const auto late = static_cast<int64_t>(
          wires_.network.random().Below(wires_.network.habits.straggler.count() + 1));
      server->process()->RunAfter(Duration(late), again);
    }
    for (const server::Grant& grant : command.grants) {
      wires_.network.Follow(
          absl::StrCat(to.endpoint, " ", grant.shard.value()),
          absl::StrCat(std::string(ToString(command.kind)), " ", grant.epoch.value()), again);
    }
  }

 private:
  void Send(SimServer& server, const std::string& endpoint, const server::Command& command) {
    const auto self = shared_from_this();
    wires_.network.Send(
        wires_.caller->host(), server.process(),
        [self, endpoint, command, from = server.process()->host()] {
          SimServer* found = self->wires_.server(endpoint);
          if (found == nullptr) return self->Lost();
          found->Receive(
              command,
              [self, from](const server::Reply& reply) {
                self->Answer(from, [self, reply] { self->Take(reply); });
              },
              [self, from](const absl::Status& refusal) {
                self->Answer(from,
                             [self, why = std::string(refusal.message())] { self->End(why); });
              });
        },
        [self] { self->Lost(); });
  }

  void Answer(const std::string& from, std::function<void()> task) {
    wires_.network.Send(from, wires_.caller, std::move(task),
                        [self = shared_from_this()] { self->Lost(); });
  }

  void Lost() {
    const auto silence = wires_.network.random().Below(kLongestSilence.count() + 1);
    wires_.caller->RunAfter(Duration(static_cast<int64_t>(silence)),
                            [self = shared_from_this()] { self->End("the connection is dead"); });
  }

  void Take(const server::Reply& reply) {
    std::vector<NamedResult> results;
    for (const server::ShardResult& r : reply.results) {
      const auto it = open_.find(r.shard);
      if (it == open_.end()) continue;
      const CommandOutcome outcome = ToOutcome(r.state);
      results.push_back({r.shard, it->second, outcome, r.progress, r.error, r.serving_epoch});
      if (outcome != CommandOutcome::kLoading) open_.erase(it);
    }
    if (!results.empty()) on_results_(std::move(results));
  }

  static CommandOutcome ToOutcome(server::ResultState state) {
    switch (state) {
      case server::ResultState::kLoading:
        return CommandOutcome::kLoading;
      case server::ResultState::kDone:
        return CommandOutcome::kDone;
      case server::ResultState::kFailed:
        return CommandOutcome::kFailed;
      case server::ResultState::kStale:
        return CommandOutcome::kStale;
      case server::ResultState::kCalledOff:
        break;
    }
    return CommandOutcome::kCalledOff;
  }

  void End(const std::string& why) {
    std::vector<NamedResult> results;
    for (const auto& [shard, epoch] : open_) {
      results.push_back({shard, epoch, CommandOutcome::kUnreachable, 0, why});
    }
    open_.clear();
    if (!results.empty()) on_results_(std::move(results));
  }

  const CallWires wires_;
  const CommandSender::ResultsCallback on_results_;
  std::map<ShardId, ShardEpoch> open_;
};

server::Command HeaderFor(const ServerAddress& to) {
  server::Command command;
  command.app = to.app.value();
  command.server = to.server.value();
  command.incarnation = to.incarnation;
  command.leader_epoch = to.leader_epoch;
  return command;
}

}  // namespace

void StartCommand(const CallWires& wires, const ServerAddress& to,
                  const orchestrator::ServerCommand& asked, Duration timeout,
                  CommandSender::ResultsCallback on_results) {
  server::Command command = HeaderFor(to);
  command.kind = asked.kind;
  command.old_owner = asked.other.server.value();
  for (const NamedGrant& g : asked.grants) {
    command.grants.push_back({.shard = g.shard,
                              .role = g.role,
                              .epoch = g.epoch,
                              .members = g.members,
                              .members_version = g.members_version});
    if (!g.made_of.empty()) {
      command.grants.back().origin = {g.made_of, g.range.start(), g.range.end(), g.hash_keys};
    }
    if (asked.other.server.empty()) continue;
    const ShardEpoch next = asked.kind == CommandKind::kChangeRole ? g.epoch : g.next_epoch;
    command.successors.push_back({asked.other.server.value(), asked.other.endpoint, next});
  }
  const auto call = std::make_shared<Call>(wires, asked.grants, std::move(on_results));
  call->Start(to, std::move(command), timeout);
}

// All its applications agree.
void StartQuestion(const CallWires& wires, const ServerAddress& to,
                   CommandSender::StatusCallback on_answer) {
  auto answer = std::make_shared<CommandSender::StatusCallback>(std::move(on_answer));
  const auto finish = [answer](const absl::Status& status) {
    if (auto once = std::exchange(*answer, nullptr)) once(status);
  };
  SimServer* server = wires.server(to.endpoint);
  wires.caller->RunAfter(server == nullptr ? wires.network.Delay() : kCollectTimeout,
                         [finish] { finish(absl::UnavailableError("no answer")); });
  if (server == nullptr) return;
  wires.network.Send(
      wires.caller->host(), server->process(), [wires, finish, from = server->process()->host()] {
        wires.network.Send(from, wires.caller, [finish] { finish(absl::OkStatus()); });
      });
}

void StartCollect(const CallWires& wires, const ServerAddress& to,
                  CommandSender::ReportCallback on_report) {
  using Report = absl::StatusOr<orchestrator::Holdings>;
  // Answered once: by the server, or by the deadline.
  auto answer = std::make_shared<CommandSender::ReportCallback>(std::move(on_report));
  const auto finish = [answer](Report report) {
    if (auto once = std::exchange(*answer, nullptr)) once(std::move(report));
  };
  SimServer* server = wires.server(to.endpoint);
  wires.caller->RunAfter(server == nullptr ? wires.network.Delay() : kCollectTimeout,
                         [finish] { finish(absl::UnavailableError("no answer")); });
  if (server == nullptr) return;
  wires.network.Send(
      wires.caller->host(), server->process(),
      [wires, finish, endpoint = to.endpoint, header = HeaderFor(to),
       from = server->process()->host()] {
        SimServer* found = wires.server(endpoint);
        if (found == nullptr) return;
        found->Receive(header, [&](const absl::StatusOr<server::Engine::Holdings>& held) {
          Report report = absl::UnavailableError("refused");
          if (held.ok()) {
            report.emplace();
            for (const auto& shard : held->shards) {
              report->held.push_back({.shard = shard.grant.shard.value(),
                                      .epoch = shard.grant.epoch,
                                      .serving = shard.serving,
                                      .role = shard.grant.role});
              if (shard.serving) wires.measure(report->held.back());
            }
          }
          wires.network.Send(from, wires.caller, [finish, report] { finish(report); });
        });
      });
}

}  // namespace shardmanager::simulation
