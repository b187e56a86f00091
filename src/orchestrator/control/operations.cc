#include "orchestrator/control/operations.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/defect.h"
#include "model/drain.h"
#include "model/maintenance.h"
#include "model/pause.h"
#include "model/spec/spec_validation.h"
#include "model/text.h"
#include "orchestrator/control/cell_health.h"
#include "orchestrator/control/container_operations.h"
#include "orchestrator/control/orders/change_answers.h"
#include "orchestrator/control/orders/drain_scopes.h"
#include "orchestrator/control/orders/maintenance_notices.h"
#include "orchestrator/control/orders/recording.h"
#include "orchestrator/control/orders/region_orders.h"
#include "orchestrator/control/orders/reshapes.h"
#include "orchestrator/control/orders/shard_pins.h"
#include "orchestrator/control/orders/spec_edits.h"
#include "orchestrator/control/rules.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/explain_status.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/shell/change_outcome.h"

namespace shardmanager::orchestrator {

// ---- changes ----

void Operations::ApplyApp(v1::ApplyAppRequest request, Reply<v1::ApplyAppResponse> reply,
                          Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const v1::AppSpec& spec = request.spec();
    if (absl::Status valid = ToStatus(ValidateSpec(spec)); !valid.ok()) return reply(valid);
    PartitionDriver* existing = apps_.Find(spec.name());
    if (auto it = apps_.drivers().find(spec.name());
        it != apps_.drivers().end() && DamagedSpec(*it->second) != nullptr) {
      return ReplaceDamagedSpec(apps_, *it->second, request, reply, wanted);
    }
    if (existing == nullptr) {
      if (absl::Status why = apps_.NoSuch(spec.name()); absl::IsUnavailable(why)) return reply(why);
    }
    v1::ApplyAppResponse response;
    response.set_outcome(v1::ApplyAppResponse::CREATED);
    if (existing != nullptr) {
      absl::Status may = CompareToApply(existing->spec().stored(), request, response);
      if (!may.ok()) return reply(may);
    }
    v1::StoredSpec stored;
    if (existing != nullptr) stored = existing->spec().stored();
    *stored.mutable_spec() = spec;
    const int32_t base = existing == nullptr ? LedApps::kNewApp : existing->spec().version();
    if (request.dry_run() || response.outcome() == v1::ApplyAppResponse::UNCHANGED) {
      wanted.NoteNone();
      const absl::Status fits = apps_.CheckSize({stored, base});
      return fits.ok() ? reply(response) : reply(fits);
    }
    wanted.Note({response.changes().begin(), response.changes().end()});
    const std::string name = spec.name();
    if (Planted(Defect::kAcknowledgeBeforeWrite)) reply(response);
    const auto written = [this, name, response, reply](absl::Status status) {
      if (!status.ok()) return reply(status);
      if (apps_.begun()) apps_.Add(name);
      reply(response);
    };
    apps_.WriteSpec({stored, base}, written, wanted);
  });
}

void Operations::DeleteApp(v1::DeleteAppRequest request, Reply<v1::DeleteAppResponse> reply,
                           Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    PartitionDriver* existing = apps_.Find(request.app());
    if (existing == nullptr) return reply(apps_.NoSuch(request.app()));
    if (absl::Status may = MayChangeSpec(*existing); !may.ok()) return reply(may);
    if (existing->spec().stored().deleting()) {
      wanted.NoteNone();
      return reply(v1::DeleteAppResponse());
    }
    v1::StoredSpec stored = existing->spec().stored();
    stored.set_deleting(true);
    apps_.WriteSpec({stored, existing->spec().version()},
                    AnswerWith(reply, v1::DeleteAppResponse()), wanted);
  });
}

void Operations::Drain(v1::DrainRequest request, Reply<v1::DrainResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    v1::Drain drain = request.drain();
    if (absl::Status valid = ValidateDrain(drain); !valid.ok()) return reply(valid);
    if (!request.app().empty() && apps_.Find(request.app()) == nullptr) {
      return reply(apps_.NoSuch(request.app()));
    }
    if (absl::Status may = MayNameServers(apps_, request.app()); !may.ok()) return reply(may);
    drain.set_since_ms(context_.session.WallMs());
    drain.clear_by_clients();
    drain.set_operation(wanted.operation());
    std::set<std::string> known;
    const auto edits = EditSpecs(apps_, request.app(),
                                 [&](const std::string& app, const PartitionState& state,
                                     const v1::StoredSpec& stored) -> std::optional<SpecEdit> {
                                   if (stored.deleting()) return std::nullopt;
                                   AddKnownScopes(state, drain.scope(), known);
                                   const v1::DrainedApp counted =
                                       CountCovered(app, state, drain.scope());
                                   if (counted.servers() == 0) return std::nullopt;
                                   SpecEdit edit{stored, counted};
                                   PutDrain(drain, edit.spec);
                                   return edit;
                                 });
    if (!edits.ok()) return reply(edits.status());
    if (edits->specs.empty()) return reply(NoSuchScope(drain.scope(), known));
    if (const v1::Drain* before = SameDrain(apps_, *edits, drain); before != nullptr) {
      v1::DrainResponse response;
      response.mutable_apps()->Assign(edits->apps.begin(), edits->apps.end());
      return reply(Already(before->since_ms(), before->who(), wanted, std::move(response)));
    }
    WriteEdits(apps_, *edits, reply, wanted);
  });
}

void Operations::Undrain(v1::UndrainRequest request, Reply<v1::UndrainResponse> reply,
                         Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateScope(request.scope()); !valid.ok()) return reply(valid);
    if (!request.app().empty() && apps_.Find(request.app()) == nullptr) {
      return reply(apps_.NoSuch(request.app()));
    }
    std::set<std::string> known;
    const auto edits = EditSpecs(apps_, request.app(),
                                 [&](const std::string& app, const PartitionState& state,
                                     const v1::StoredSpec& stored) -> std::optional<SpecEdit> {
                                   for (const v1::Drain& drain : stored.drains()) {
                                     known.insert(ToString(drain.scope()));
                                   }
                                   SpecEdit edit{stored, CountCovered(app, state, request.scope())};
                                   if (!TakeOutDrain(request.scope(), edit.spec))
                                     return std::nullopt;
                                   return edit;
                                 });
    if (!edits.ok()) return reply(edits.status());
    if (edits->specs.empty()) {
      return reply(absl::NotFoundError(
          absl::StrCat("no drain of ", ToString(request.scope()),
                       "; there are: ", known.empty() ? "none" : absl::StrJoin(known, ", "))));
    }
    WriteEdits(apps_, *edits, reply, wanted);
  });
}

void Operations::AddMaintenance(v1::AddMaintenanceRequest request,
                                Reply<v1::AddMaintenanceResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const int64_t now_ms = context_.session.WallMs();
    v1::Maintenance notice = WithDefaults(request.maintenance(), now_ms);
    if (absl::Status valid = ValidateMaintenance(notice, now_ms); !valid.ok()) return reply(valid);
    notice.set_since_ms(now_ms);
    const auto edits = GiveNotice(apps_, notice, now_ms);
    if (!edits.ok()) return reply(edits.status());
    WriteEdits(apps_, *edits, reply, wanted);
  });
}

void Operations::CancelMaintenance(v1::CancelMaintenanceRequest request,
                                   Reply<v1::CancelMaintenanceResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
    const auto edits = TakeNoticeBack(apps_, request.id());
    if (!edits.ok()) return reply(edits.status());
    const std::string what = absl::StrCat("maintenance ", request.id());
    WriteEdits(
        apps_, *edits,
        Recording(context_.events, reply, {"CancelMaintenanceAsked", what, request.who()}, wanted),
        wanted);
  });
}

void Operations::PauseApp(v1::PauseAppRequest request, Reply<v1::PauseAppResponse> reply,
                          Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidatePause(request.pause()); !valid.ok()) return reply(valid);
    v1::PauseAppResponse response;
    const auto pause = [&](const PartitionDriver&, v1::StoredSpec& stored) {
      if (stored.has_pause() && SameOrder(stored.pause(), request.pause())) {
        response = Already(stored.pause().since_ms(), stored.pause().who(), wanted,
                           v1::PauseAppResponse());
      }
      const int64_t since =
          stored.has_pause() ? stored.pause().since_ms() : context_.session.WallMs();
      *stored.mutable_pause() = request.pause();
      stored.mutable_pause()->set_since_ms(since);
      return absl::OkStatus();
    };
    const auto change = EditSpecOf(apps_, request.app(), pause);
    if (change.ok() && response.already_since_ms() != 0) return reply(response);
    WriteEdit(apps_, change, reply, wanted, response);
  });
}

void Operations::ResumeApp(v1::ResumeAppRequest request, Reply<v1::ResumeAppResponse> reply,
                           Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
    const auto resume = [&](const PartitionDriver&, v1::StoredSpec& stored) {
      if (!stored.has_pause()) {
        return absl::FailedPreconditionError(
            absl::StrCat("app \"", request.app(), "\" is not paused"));
      }
      stored.clear_pause();
      return absl::OkStatus();
    };
    const std::string what = absl::StrCat("app ", request.app());
    WriteEdit(apps_, EditSpecOf(apps_, request.app(), resume),
              Recording(context_.events, reply, {"ResumeAsked", what, request.who()}, wanted),
              wanted);
  });
}

void Operations::PinShard(v1::PinShardRequest request, Reply<v1::PinShardResponse> reply,
                          Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    v1::Pin pin = request.pin();
    if (absl::Status valid = ValidatePin(pin); !valid.ok()) return reply(valid);
    pin.set_since_ms(context_.session.WallMs());
    v1::PinShardResponse response;
    const auto put = [&](const PartitionDriver& app, v1::StoredSpec& stored) {
      if (const v1::Pin* before = FindPin(pin.shard(), stored);
          before != nullptr && SameOrder(*before, pin)) {
        response = Already(before->since_ms(), before->who(), wanted, v1::PinShardResponse());
      }
      const absl::Status may = MayLookAt(request.app(), app);
      return may.ok() ? PutPin(*app.state(), pin, stored) : may;
    };
    const auto change = EditSpecOf(apps_, request.app(), put);
    if (change.ok() && response.already_since_ms() != 0) return reply(response);
    WriteEdit(apps_, change, reply, wanted, response);
  });
}

void Operations::UnpinShard(v1::UnpinShardRequest request, Reply<v1::UnpinShardResponse> reply,
                            Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
    const auto take_out = [&](const PartitionDriver&, v1::StoredSpec& stored) {
      return TakeOutPin(request.shard(), stored);
    };
    const std::string what = absl::StrCat("app ", request.app(), ", shard ", request.shard());
    WriteEdit(apps_, EditSpecOf(apps_, request.app(), take_out),
              Recording(context_.events, reply, {"UnpinAsked", what, request.who()}, wanted),
              wanted);
  });
}

void Operations::PreferRegions(v1::PreferRegionsRequest request,
                               Reply<v1::PreferRegionsResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
    v1::PreferRegionsResponse response;
    const auto prefer = [&](const PartitionDriver& app, v1::StoredSpec& stored) {
      absl::Status may = MayLookAt(request.app(), app);
      return may.ok() ? Prefer(*app.state(), request, context_.session.WallMs(), stored, response)
                      : may;
    };
    const auto change = EditSpecOf(apps_, request.app(), prefer);
    if (change.ok() && (request.dry_run() || response.changed() == 0)) {
      wanted.NoteNone();
      return reply(response);
    }
    WriteEdit(apps_, change, reply, wanted, response);
  });
}

void Operations::ReshapeShards(v1::ReshapeShardsRequest request,
                               Reply<v1::ReshapeShardsResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const auto may_change = [this, wanted] { return thread_.MayChange(wanted); };
    AskAndOrderReshape({apps_, context_.events, may_change, wanted}, request, reply);
  });
}

void Operations::ReleaseServer(v1::ReleaseServerRequest request,
                               Reply<v1::ReleaseServerResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    PartitionDriver* driver = apps_.Find(request.app());
    if (driver == nullptr) return reply(apps_.NoSuch(request.app()));
    const auto released = [this, request, reply, wanted](absl::StatusOr<std::string> kept_at) {
      if (!kept_at.ok()) return reply(kept_at.status());
      wanted.Note(
          {absl::StrCat("- the assignment record of ", request.server(), ", now at ", *kept_at)});
      context_.events.Record(
          "RecordReleased",
          absl::StrCat("app ", request.app(), ": the assignment record of ", request.server(),
                       " is released; its bytes are at ", *kept_at));
      v1::ReleaseServerResponse response;
      response.set_kept_at(*kept_at);
      reply(std::move(response));
    };
    driver->Release(request.server(), released, wanted);
  });
}

void Operations::Report(v1::ReportRequest request, Reply<v1::ReportResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply] {
    const absl::StatusOr<AppTasks*> tasks = TasksOf(apps_, request.app());
    if (!tasks.ok()) return reply(tasks.status());
    (*tasks)->Report(request, reply);
  });
}

void Operations::SupplyMap(v1::SupplyMapRequest request, Reply<v1::SupplyMapResponse> reply) {
  absl::StatusOr<SuppliedMap> parsed = ParseMap(request);  // maps are large: not on the one thread
  if (!parsed.ok()) return reply(parsed.status());
  auto map = std::make_shared<SuppliedMap>(*std::move(parsed));
  thread_.ToAnswer(reply, [this, app = request.app(), map, reply] {
    reply(TakeMap(apps_, app, std::move(*map), context_.executor.Now()));
  });
}

void Operations::ApproveOperation(v1::ApproveOperationRequest request,
                                  Reply<v1::ApproveOperationResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const absl::StatusOr<AppTasks*> tasks = TasksOf(apps_, request.app());
    if (!tasks.ok()) return reply(tasks.status());
    if (absl::Status done = (*tasks)->Approve(request); !done.ok()) return reply(done);
    wanted.Note({"- it waits for the limits", "+ it is approved against them"});
    reply(v1::ApproveOperationResponse());
  });
}

void Operations::EndOperation(v1::EndOperationRequest request,
                              Reply<v1::EndOperationResponse> reply, Wanted wanted) {
  thread_.ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
    const absl::StatusOr<AppTasks*> tasks = TasksOf(apps_, request.app());
    if (!tasks.ok()) return reply(tasks.status());
    if (absl::Status done = (*tasks)->End(request); !done.ok()) return reply(done);
    wanted.Note({"- it has begun", "+ it counts as finished"});
    reply(v1::EndOperationResponse());
  });
}

// ---- questions ----

void Operations::GetOperations(v1::GetOperationsRequest request,
                               Reply<v1::GetOperationsResponse> reply) {
  thread_.ToAnswer(reply, [this, request = std::move(request), reply] {
    reply(FindOperations(apps_, request, context_.executor.Now()));
  });
}

void Operations::GetRollouts(v1::GetRolloutsRequest request, Reply<v1::GetRolloutsResponse> reply) {
  thread_.ToAnswer(reply, [this, request = std::move(request), reply] {
    reply(FindRollouts(apps_, request, context_.executor.Now()));
  });
}

void Operations::GetMaintenances(v1::GetMaintenancesRequest request,
                                 Reply<v1::GetMaintenancesResponse> reply) {
  thread_.ToAnswer(reply, [this, request = std::move(request), reply] {
    if (!request.app().empty() && apps_.Find(request.app()) == nullptr) {
      return reply(apps_.NoSuch(request.app()));
    }
    const auto all = DescribeNotices(apps_, context_.executor.Now(), request.app(), request.id());
    if (!request.id().empty() && all.empty()) {
      return reply(absl::NotFoundError(absl::StrCat("no maintenance ", Quoted(request.id()))));
    }
    v1::GetMaintenancesResponse response;
    response.mutable_maintenances()->Assign(all.begin(), all.end());
    reply(std::move(response));
  });
}

void Operations::GetApps(v1::GetAppsRequest request, Reply<v1::GetAppsResponse> reply) {
  thread_.ToAnswer(reply, [this, request = std::move(request), reply] {
    v1::GetAppsResponse response;
    for (const auto& [name, driver] : apps_.drivers()) {
      if (!request.app().empty() && request.app() != name) continue;
      if (!driver->spec().has_spec() && driver->problem().ok()) continue;
      v1::AppStatus status;
      if (driver->state() != nullptr) {
        const TimePoint now = context_.executor.Now();
        status = DescribeApp(*driver->state(), apps_.LookAtHealth(name, now), now);
      } else {
        *status.mutable_spec() = driver->spec().stored().spec();
        status.mutable_spec()->set_name(name);
        status.add_conditions(driver->problem().ok()
                                  ? "reading its records from the coordination store"
                                  : driver->problem().ToString());
      }
      for (std::string& line : driver->damaged().Describe()) status.add_conditions(line);
      for (std::string& line : context_.client_drains.Conditions(name)) {
        status.add_conditions(std::move(line));
      }
      const std::string path = context_.session.paths().operations(AppName(name));
      if (std::string unread = OperationsUnread(*driver, path); !unread.empty()) {
        status.add_conditions(std::move(unread));
      }
      *status.mutable_map_version() = driver->map_version();
      *response.add_apps() = std::move(status);
    }
    if (!request.app().empty() && response.apps().empty())
      return reply(apps_.NoSuch(request.app()));
    reply(std::move(response));
  });
}

void Operations::GetServers(v1::GetServersRequest request, Reply<v1::GetServersResponse> reply) {
  thread_.ToAnswer(reply, [this, request = std::move(request), reply] {
    if (absl::Status may = MayNameServers(apps_, request.app()); !may.ok()) return reply(may);
    v1::GetServersResponse response;
    for (const auto& [name, driver] : apps_.drivers()) {
      if (!request.app().empty() && request.app() != name) continue;
      if (driver->state() == nullptr) continue;
      for (auto& server :
           DescribeServers(*driver->state(), context_.executor.Now(), request.server())) {
        server.set_app(name);
        *response.add_servers() = std::move(server);
      }
    }
    if (!request.app().empty() && apps_.Find(request.app()) == nullptr) {
      return reply(apps_.NoSuch(request.app()));
    }
    if (!request.server().empty() && response.servers().empty()) {
      return reply(absl::NotFoundError(absl::StrCat("no server \"", request.server(), "\"")));
    }
    reply(std::move(response));
  });
}

void Operations::GetShards(v1::GetShardsRequest request, Reply<v1::GetShardsResponse> reply) {
  thread_.ToAnswer(reply, [this, request = std::move(request), reply] {
    if (absl::Status valid = ValidateFilter(request); !valid.ok()) return reply(valid);
    PartitionDriver* driver = apps_.Find(request.app());
    if (driver == nullptr) return reply(apps_.NoSuch(request.app()));
    v1::GetShardsResponse response;
    if (driver->state() != nullptr) {
      for (auto& shard : DescribeShards(*driver->state(), request)) {
        *response.add_shards() = std::move(shard);
      }
    }
    if (!request.shard().empty() && response.shards().empty()) {
      return reply(absl::NotFoundError(
          absl::StrCat("app \"", request.app(), "\" has no shard \"", request.shard(), "\"")));
    }
    reply(std::move(response));
  });
}

void Operations::ExplainShard(v1::ExplainShardRequest request,
                              Reply<v1::ExplainShardResponse> reply) {
  thread_.ToAnswer(reply, [this, request = std::move(request), reply] {
    const auto app = FindToLookAt(apps_, request.app());
    if (!app.ok()) return reply(app.status());
    const PartitionState& state = *(*app)->state();
    const auto subject = FindSubject(state, request);
    if (!subject.ok()) return reply(subject.status());
    if (Mirrors(state)) {  // there is nothing to weigh
      return reply(DescribeExplanation(state, context_.executor.Now(), *subject, {}));
    }
    const auto may_answer = [this] { return thread_.MayAnswer(); };
    AskRules({apps_, context_.executor, context_.solver, may_answer}, request.app(),
             std::make_shared<const allocator::Snapshot>(ExplainSnapshot(state, subject->shard)),
             {.only = subject->server, .most_candidates = subject->most_candidates},
             [this, reply, subject = *subject](const absl::StatusOr<RulesAnswer>& answer) {
               if (!answer.ok()) return reply(answer.status());
               reply(DescribeExplanation(*answer->app.state(), context_.executor.Now(), subject,
                                         answer->explanation));
             });
  });
}

void Operations::GetStatus(Reply<v1::GetStatusResponse> reply, bool with_problems) {
  context_.executor.Post([this, reply, with_problems] {
    const Leadership& leadership = context_.leadership;
    const auto look = with_problems ? LookAtCell : LookAtLead;
    const CellHealth cell = look(context_.session, leadership, apps_, context_.executor.Now());
    const bool led = leadership.epoch().has_value();
    v1::GetStatusResponse response;
    response.set_cell(cell.cell);
    response.set_leading(thread_.MayAnswer().ok());
    response.set_leader_epoch(cell.leader_epoch);
    if (leadership.leader() && (cell.in_touch || !led)) {
      response.set_leader_endpoint(leadership.leader()->endpoint());
    }
    response.set_led_for_ms(cell.led_for / Milliseconds(1));
    if (!cell.in_touch) {
      response.set_cut_off_ms(std::max(Milliseconds(1), cell.silent_for) / Milliseconds(1));
      response.set_led_before(led);
    }
    response.mutable_problems()->Assign(cell.problems.begin(), cell.problems.end());
    response.set_apps(static_cast<uint32_t>(cell.apps.size()));
    reply(std::move(response));
  });
}

}  // namespace shardmanager::orchestrator
