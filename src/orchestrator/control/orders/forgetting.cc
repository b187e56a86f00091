#include "orchestrator/control/orders/forgetting.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/control/orders/change_answers.h"
#include "orchestrator/control/orders/drain_scopes.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/servers.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/shell/forget.h"

namespace shardmanager::orchestrator {
namespace {

std::string ReasonOf(const PartitionState& state, TimePoint now, const std::string& name) {
  const auto described = DescribeServers(state, now, name);
  return described.empty() || described.front().reason().empty()
             ? ""
             : absl::StrCat(" (", described.front().reason(), ")");
}

// Empty: it may be.
std::string WhyNotForgotten(const PartitionDriver& app, ServerIndex id, TimePoint now) {
  const PartitionState& state = *app.state();
  const Server& server = state.tables.server(id);
  const std::string& name = state.tables.name(id);
  if (server.state == ServerState::kLive) {
    return absl::StrCat("is live (life ", server.incarnation.value(), "): stop it first");
  }
  if (server.record_unread) {
    return absl::StrCat("has an assignment record that cannot be read: `shardctl release server ",
                        name, "` first");
  }
  if (!server.replicas.empty()) {
    return absl::StrCat("still has ", shardmanager::Counted(server.replicas.size(), "replica"),
                        " assigned to it, until others have them", ReasonOf(state, now, name));
  }
  if (server.state == ServerState::kLost && !IsFailedOver(server)) {
    return absl::StrCat("is waited for", ReasonOf(state, now, name));
  }
  if (server.planned.closed || server.planned.avoided) {
    return "is to come back: a container operation or a maintenance is about it";
  }
  v1::DrainScope scope;
  scope.set_server(name);
  if (FindDrain(scope, app.spec().stored()) != nullptr) {
    return absl::StrCat(
        "has an order to be drained, which would hold for a server of that name: "
        "`shardctl undrain server ",
        name, "` first");
  }
  return "";
}

// In the store, and then the partition hears of it.
void Forget(PartitionDriver& app, const std::string& server, const LedApps::Done& done,
            const Wanted& wanted) {
  const WriterOptions options = app.MakeWriterOptions();
  const auto marked = [&app, post = options.post, server, done](absl::StatusOr<int32_t> version) {
    post([&app, server, done, version] {
      if (!version.ok()) return done(version.status());
      app.Hear(ServerForgotten{server, *version});
      done(absl::OkStatus());
    });
  };
  MarkForgotten(options, ServerName(server), marked, wanted);
}

}  // namespace

void OrderForgotten(LedApps& apps, TimePoint now, const v1::ForgetServerRequest& request,
                    const std::function<void(absl::StatusOr<v1::ForgetServerResponse>)>& reply,
                    const Wanted& wanted) {
  const auto app = FindToLookAt(apps, request.app());
  if (!app.ok()) return reply(app.status());
  const PartitionState& state = *(*app)->state();
  if (Mirrors(state)) {
    return reply(absl::FailedPreconditionError(absl::StrCat(
        "app ", Quoted(request.app()), " has an orchestrator of its own: that names its servers")));
  }
  const ServerIndex id = state.tables.FindServer(request.server());
  if (!id.valid()) {
    return reply(absl::NotFoundError(
        absl::StrCat("app ", Quoted(request.app()), " has no server ", Quoted(request.server()))));
  }
  v1::ForgetServerResponse response;
  if (!IsListed(state, state.tables.server(id))) {
    wanted.NoteNone();
    response.set_already(true);
    return reply(response);
  }
  if (const std::string why = WhyNotForgotten(**app, id, now); !why.empty()) {
    return reply(
        absl::FailedPreconditionError(absl::StrCat("server ", Quoted(request.server()), " ", why)));
  }
  wanted.Note({"+ registration.forgotten: true"});
  wanted.NoteConsequence(
      "it is listed and counted no more; if a server of that name registers, it "
      "is one like any other");
  if (wanted.is_preview()) return reply(response);
  Forget(**app, request.server(), AnswerWith(reply, response), wanted);
}

}  // namespace shardmanager::orchestrator
