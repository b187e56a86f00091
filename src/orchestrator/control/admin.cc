// What operators ask of the controller (admin.proto).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/defect.h"
#include "model/spec_validation.h"
#include "model/text.h"
#include "orchestrator/control/controller.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/describe/explain_status.h"
#include "orchestrator/describe/status.h"

namespace shardmanager::orchestrator {
namespace {

std::string Lines(const std::vector<std::string>& lines) { return absl::StrJoin(lines, "\n"); }

absl::Status MayReplace(const DamagedRecord& spec, bool force) {
  const std::string why(spec.why.message());
  if (spec.newer()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a newer version wrote the stored spec: ", why, ". Run that version and apply it there"));
  }
  if (!spec.kept.ok()) {
    return absl::UnavailableError(absl::StrCat("the stored spec cannot be read (", why,
                                               ") and its bytes are not at ", spec.kept_at,
                                               " yet: ", std::string(spec.kept.message())));
  }
  if (force) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the stored spec cannot be read (", why, "): nobody knows what would change. --force puts ",
      "yours in its place; its bytes stay at ", spec.kept_at));
}

}  // namespace

absl::Status Controller::NotLeading() const {
  if (leader_) {
    return absl::FailedPreconditionError(absl::StrCat("this process is a standby; the leader is ",
                                                      leader_->process(), " at ",
                                                      leader_->endpoint()));
  }
  const bool connected = store_ != nullptr && store_->state() == SessionState::kConnected;
  return absl::UnavailableError(connected ? "no leader is elected yet"
                                          : "the coordination store is out of reach");
}

absl::Status Controller::NoSuchApp(const std::string& app) const {
  auto it = lead_->apps.find(app);
  if (it != lead_->apps.end() && !it->second->has_spec()) {
    return absl::UnavailableError(absl::StrCat(
        "app \"", app, "\" is still being read from the coordination store",
        it->second->problem().ok() ? "" : ": ", std::string(it->second->problem().message())));
  }
  return absl::NotFoundError(absl::StrCat("no app \"", app, "\""));
}

void Controller::ApplyApp(v1::ApplyAppRequest request, Reply<v1::ApplyAppResponse> reply,
                          Wanted wanted) {
  ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    const v1::AppSpec& spec = request.spec();
    if (absl::Status valid = ToStatus(ValidateSpec(spec)); !valid.ok()) return reply(valid);
    PartitionDriver* existing = FindApp(spec.name());
    if (auto it = lead_->apps.find(spec.name());
        it != lead_->apps.end() && it->second->damaged_spec() != nullptr) {
      return ReplaceDamagedSpec(it->second.get(), request, reply);
    }
    if (existing == nullptr && absl::IsUnavailable(NoSuchApp(spec.name()))) {
      return reply(NoSuchApp(spec.name()));
    }
    v1::ApplyAppResponse response;
    response.set_outcome(v1::ApplyAppResponse::CREATED);
    if (existing != nullptr) {
      if (existing->spec().deleting()) {
        return reply(absl::FailedPreconditionError(
            absl::StrCat("app \"", spec.name(), "\" is being deleted; try again when it is gone")));
      }
      const SpecChange change = CompareSpecs(existing->spec().spec(), spec);
      response.set_outcome(change.differences.empty() ? v1::ApplyAppResponse::UNCHANGED
                                                      : v1::ApplyAppResponse::CONFIGURED);
      for (const std::string& line : change.differences) response.add_changes(line);
      if (!change.losses.empty() && !request.force()) {
        return reply(absl::FailedPreconditionError(
            absl::StrCat("the change would lose something; nothing was changed. Use --force if "
                         "that is meant:\n",
                         Lines(change.losses))));
      }
    }
    if (request.dry_run() || response.outcome() == v1::ApplyAppResponse::UNCHANGED) {
      return reply(response);
    }
    v1::StoredSpec stored;
    if (existing != nullptr) stored = existing->spec();
    *stored.mutable_spec() = spec;
    const std::string name = spec.name();
    if (Planted(Defect::kAcknowledgeBeforeWrite)) reply(response);
    const int32_t base = existing == nullptr ? kNewApp : existing->spec_version();
    const auto written = [this, name, response, reply](absl::Status status) {
      if (!status.ok()) return reply(status);
      if (lead_) AddApp(name);
      reply(response);
    };
    WriteSpec(stored, base, written, wanted);
  });
}

// What is stored and cannot be read may hold more than the spec that replaces it.
void Controller::ReplaceDamagedSpec(PartitionDriver* app, const v1::ApplyAppRequest& request,
                                    Reply<v1::ApplyAppResponse> reply) {
  if (absl::Status may = MayReplace(*app->damaged_spec(), request.force()); !may.ok()) {
    return reply(may);
  }
  v1::ApplyAppResponse response;
  response.set_outcome(v1::ApplyAppResponse::CONFIGURED);
  response.add_changes(
      absl::StrCat("the stored spec, which cannot be read, is replaced; its bytes stay at ",
                   app->damaged_spec()->kept_at));
  if (request.dry_run()) return reply(response);
  v1::StoredSpec stored;
  *stored.mutable_spec() = request.spec();
  *stored.mutable_drains() = app->spec().drains();  // as far as they are known
  const int32_t base = app->damaged_spec()->node.stat.version;
  WriteSpec(stored, base, [response, reply](absl::Status status) {
    if (!status.ok()) return reply(status);
    reply(response);
  });
}

void Controller::DeleteApp(v1::DeleteAppRequest request, Reply<v1::DeleteAppResponse> reply,
                           Wanted wanted) {
  ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    PartitionDriver* existing = FindApp(request.app());
    if (existing == nullptr) return reply(NoSuchApp(request.app()));
    if (absl::Status may = MayChangeSpec(*existing); !may.ok()) return reply(may);
    if (existing->spec().deleting()) return reply(v1::DeleteAppResponse());
    v1::StoredSpec stored = existing->spec();
    stored.set_deleting(true);
    const auto written = [reply](absl::Status status) {
      if (!status.ok()) return reply(status);
      reply(v1::DeleteAppResponse());
    };
    WriteSpec(stored, existing->spec_version(), written, wanted);
  });
}

// What is stored is the base of a change: without it, the change would lose the rest.
absl::Status Controller::MayChangeSpec(const PartitionDriver& app) {
  if (app.damaged_spec() == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("app ", Quoted(app.spec().spec().name()),
                   ": the stored spec cannot be read; put one in its place first: "
                   "`shardctl apply --force -f FILE`"));
}

// Answers on the controller's thread. REQUIRES: it leads.
void Controller::WriteSpec(const v1::StoredSpec& spec, int32_t base, SpecStore::Done done,
                           const Wanted& wanted) {
  const SpecStore specs(store_.get(), paths_, cell_.buckets(), lead_->epoch);
  const AppName app(spec.spec().name());
  auto posted = [this, done, spec, epoch = lead_->epoch, base](absl::Status status) {
    executor_->Post([this, done, spec, epoch, base, status] {
      PartitionDriver* driver =
          lead_ && lead_->epoch == epoch ? FindApp(spec.spec().name()) : nullptr;
      // Lest the next change, which may come with the answer, find the version before.
      if (status.ok() && driver != nullptr) driver->TakeSpec(spec, base + 1);
      done(status);
    });
  };
  if (base == kNewApp) {
    specs.Create(app, spec, posted, wanted);
  } else {
    specs.Replace(app, spec, base, posted, wanted);
  }
}

void Controller::GetApps(v1::GetAppsRequest request, Reply<v1::GetAppsResponse> reply) {
  OnThread(reply, [this, request = std::move(request), reply] {
    v1::GetAppsResponse response;
    for (const auto& [name, driver] : lead_->apps) {
      if (!request.app().empty() && request.app() != name) continue;
      if (!driver->has_spec() && driver->problem().ok()) continue;
      v1::AppStatus status;
      if (driver->state() != nullptr) {
        status = DescribeApp(*driver->state(), executor_->Now());
      } else {
        *status.mutable_spec() = driver->spec().spec();
        status.mutable_spec()->set_name(name);
        status.add_conditions(driver->problem().ok()
                                  ? "reading its records from the coordination store"
                                  : driver->problem().ToString());
      }
      for (std::string& line : driver->damaged().Describe()) status.add_conditions(line);
      *status.mutable_map_version() = driver->map_version();
      *response.add_apps() = std::move(status);
    }
    if (!request.app().empty() && response.apps().empty()) return reply(NoSuchApp(request.app()));
    reply(std::move(response));
  });
}

void Controller::GetServers(v1::GetServersRequest request, Reply<v1::GetServersResponse> reply) {
  OnThread(reply, [this, request = std::move(request), reply] {
    v1::GetServersResponse response;
    for (const auto& [name, driver] : lead_->apps) {
      if (!request.app().empty() && request.app() != name) continue;
      if (driver->state() == nullptr) continue;
      for (auto& server : DescribeServers(*driver->state(), executor_->Now(), request.server())) {
        server.set_app(name);
        *response.add_servers() = std::move(server);
      }
    }
    if (!request.app().empty() && FindApp(request.app()) == nullptr) {
      return reply(NoSuchApp(request.app()));
    }
    if (!request.server().empty() && response.servers().empty()) {
      return reply(absl::NotFoundError(absl::StrCat("no server \"", request.server(), "\"")));
    }
    reply(std::move(response));
  });
}

void Controller::GetShards(v1::GetShardsRequest request, Reply<v1::GetShardsResponse> reply) {
  OnThread(reply, [this, request = std::move(request), reply] {
    PartitionDriver* driver = FindApp(request.app());
    if (driver == nullptr) return reply(NoSuchApp(request.app()));
    v1::GetShardsResponse response;
    if (driver->state() != nullptr) {
      for (auto& shard : DescribeShards(*driver->state(), request.shard())) {
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

void Controller::ExplainShard(v1::ExplainShardRequest request,
                              Reply<v1::ExplainShardResponse> reply) {
  OnThread(reply, [this, request = std::move(request), reply] {
    PartitionDriver* driver = FindApp(request.app());
    if (driver == nullptr) return reply(NoSuchApp(request.app()));
    if (driver->state() == nullptr) {
      return reply(
          absl::UnavailableError(absl::StrCat("app \"", request.app(), "\" is still being read")));
    }
    const auto subject = FindSubject(*driver->state(), request);
    if (!subject.ok()) return reply(subject.status());
    auto snapshot = std::make_shared<const allocator::Snapshot>(
        ExplainSnapshot(*driver->state(), subject->shard));
    solver_->Post(
        [this, reply, app = request.app(), subject = *subject, snapshot, life = driver->life()] {
          allocator::Explanation explanation = allocator::Explain(
              *snapshot, {.only = subject.server, .most_candidates = subject.most_candidates});
          executor_->Post([this, reply, app, subject, life, explanation = std::move(explanation)] {
            if (absl::Status may = MayAnswer(); !may.ok()) return reply(may);
            PartitionDriver* still = life.expired() ? nullptr : FindApp(app);
            if (still == nullptr) return reply(NoSuchApp(app));
            reply(DescribeExplanation(*still->state(), executor_->Now(), subject, explanation));
          });
        });
  });
}

void Controller::ReleaseServer(v1::ReleaseServerRequest request,
                               Reply<v1::ReleaseServerResponse> reply, Wanted wanted) {
  ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    PartitionDriver* driver = FindApp(request.app());
    if (driver == nullptr) return reply(NoSuchApp(request.app()));
    const auto released = [this, request, reply](absl::StatusOr<std::string> kept_at) {
      if (!kept_at.ok()) return reply(kept_at.status());
      Record("RecordReleased",
             absl::StrCat("app ", request.app(), ": the assignment record of ", request.server(),
                          " is released; its bytes are at ", *kept_at));
      v1::ReleaseServerResponse response;
      response.set_kept_at(*kept_at);
      reply(std::move(response));
    };
    driver->Release(request.server(), released, wanted);
  });
}

void Controller::GetStatus(Reply<v1::GetStatusResponse> reply) {
  executor_->Post([this, reply] {
    v1::GetStatusResponse response;
    response.set_cell(options_.cell.cell());
    response.set_leading(MayAnswer().ok());
    if (lead_) response.set_leader_epoch(lead_->epoch.value());
    if (leader_ && (InTouch() || !lead_)) response.set_leader_endpoint(leader_->endpoint());
    if (!InTouch()) {
      response.set_cut_off_ms(std::max(Milliseconds(1), lease_.SilentFor(executor_->Now())) /
                              Milliseconds(1));
      response.set_led_before(lead_.has_value());
    }
    reply(std::move(response));
  });
}

}  // namespace shardmanager::orchestrator
