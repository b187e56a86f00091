#include "orchestrator/control/client_drains.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/drain.h"
#include "model/spec/client_reports.h"
#include "orchestrator/control/orders/drain_scopes.h"
#include "orchestrator/control/orders/spec_edits.h"
#include "orchestrator/decide/supply.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kLookInterval = Seconds(2);

GrayServers::World WorldOf(const PartitionState& state, const v1::StoredSpec& stored,
                           const std::vector<v1::ServerSeen>& said) {
  GrayServers::World world;
  world.rules = RulesOf(stored.spec().client_reports());
  const Tables& tables = state.tables;
  for (const ServerIndex id : tables.servers()) {
    const Server& server = tables.server(id);
    if (server.state != ServerState::kLive) continue;
    world.live.push_back(
        {tables.name(id), server.incarnation.value(), server.draining || server.planned.closed});
  }
  for (const v1::ServerSeen& seen : said) world.said[seen.server()] = ViewOf(seen);
  for (const v1::Drain& drain : stored.drains()) {
    if (drain.has_by_clients()) world.drains.push_back(drain);
  }
  return world;
}

bool HasDrainOf(const v1::DrainScope& scope, const v1::StoredSpec& stored) {
  return std::any_of(stored.drains().begin(), stored.drains().end(),
                     [&](const v1::Drain& drain) { return SameScope(drain.scope(), scope); });
}

}  // namespace

void ClientDrains::Start() {
  if (!context_.views) return;
  context_.executor.PostAt(context_.executor.Now() + kLookInterval, [this] {
    Look();
    Start();
  });
}

std::vector<std::string> ClientDrains::Conditions(const std::string& app) const {
  const auto found = apps_.find(app);
  return found == apps_.end() ? std::vector<std::string>() : found->second.conditions();
}

// Who does not lead forgets for how long clients complain: as leader, it hears it anew.
void ClientDrains::Look() {
  std::map<std::string, GrayServers> before;
  before.swap(apps_);
  if (!context_.apps.begun()) return;
  for (const auto& [app, driver] : context_.apps.drivers()) {
    if (driver->state() == nullptr || !driver->state()->recovered) continue;
    if (!driver->spec().has_spec() || Mirrors(*driver->state())) continue;
    if (auto known = before.extract(app)) apps_.insert(std::move(known));
    LookAt(app, *driver);
  }
}

void ClientDrains::LookAt(const std::string& app, const PartitionDriver& driver) {
  GrayServers::World world =
      WorldOf(*driver.state(), driver.spec().stored(), context_.views(AppName(app)));
  world.now = context_.executor.Now();
  world.wall_ms = context_.session.WallMs();
  const GrayServers::Orders orders = apps_[app].Decide(world);
  if (!orders.empty() && !writing_.contains(app)) Write(app, orders);
}

// What is not written is ordered again at the next look.
void ClientDrains::Write(const std::string& app, const GrayServers::Orders& orders) {
  if (!context_.leadership.InTouch() || !context_.session.connected()) return;
  const auto edit = [&](const PartitionDriver&, v1::StoredSpec& stored) {
    for (const auto& [server, why] : orders.end) {
      v1::DrainScope scope;
      scope.set_server(server);
      TakeOutDrain(scope, stored);
    }
    for (const v1::Drain& drain : orders.begin) {
      if (!HasDrainOf(drain.scope(), stored)) *stored.add_drains() = drain;
    }
    return absl::OkStatus();
  };
  const auto change = EditSpecOf(context_.apps, app, edit);
  if (!change.ok()) return;
  writing_.insert(app);
  context_.apps.WriteSpec(*change, [this, app, orders](absl::Status written) {
    writing_.erase(app);
    if (!written.ok()) return;
    for (const v1::Drain& drain : orders.begin) {
      context_.events.Record(
          "DrainedForClients",
          absl::StrCat(app, ": server ", drain.scope().server(), ": ", drain.reason()),
          /*trouble=*/true);
    }
    for (const auto& [server, why] : orders.end) {
      context_.events.Record("ClientDrainEnded", absl::StrCat(app, ": server ", server, ": ", why));
    }
  });
}

}  // namespace shardmanager::orchestrator
