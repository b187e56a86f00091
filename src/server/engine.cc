#include "server/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "runtime/logging.h"

namespace shardmanager::server {
namespace {

// The rest of the time for which requests are held is for DropShard, and the way to the new owner.
Duration HandoverDrainTimeout(const ServerOptions& options) {
  return std::min(options.drain_timeout, options.hold_timeout * 3 / 4);
}

size_t CallsAtOnce(const ServerOptions& options) {
  return static_cast<size_t>(std::max(1, options.command_threads));
}

}  // namespace

Engine::Engine(const ServerOptions& options, Executor& executor, CoordinationStoreFactory& stores,
               Ports ports, AdmissionTable::Clock now)
    : options_(options),
      executor_(executor),
      stores_(stores),
      ports_(std::move(ports)),
      gates_([this](const ShardId& shard) { OnDrained(shard); }, now,
             [this](const ShardId& shard) { book_.Post(Forwarded{shard}); }),
      book_(executor_,
            ShardBookOptions{.app = options_.app,
                             .server = options_.name,
                             .drain_timeout = options_.drain_timeout,
                             .handover_drain_timeout = HandoverDrainTimeout(options_),
                             .member_changes_at_once = CallsAtOnce(options_)},
            [this](auto& action) { std::visit([this](auto& a) { Do(a); }, action); }),
      membership_(executor_, Membership(options_.app),
                  [this](auto& action) { std::visit([this](auto& a) { Do(a); }, action); }) {}

void Engine::Start(const std::string& endpoint) {
  executor_.Post([this, endpoint] {
    endpoint_ = endpoint;
    CellLink::Callbacks callbacks;
    callbacks.event = [this](Membership::Event event) { membership_.Post(std::move(event)); };
    callbacks.assigned = [this](Assigned assigned) { book_.Post(std::move(assigned)); };
    link_.emplace(options_, endpoint_, stores_, executor_, std::move(callbacks));
    link_->NewSession();
  });
}

void Engine::Obey(Command command) {
  if (command.kind == CommandKind::kDrop || command.kind == CommandKind::kPrepareDrop) {
    let_go_at_ = executor_.Now().time_since_epoch().count();
  }
  command.cut_off = gates_.IsCutOff();
  if (!command.operations.empty()) {
    LogInfo("server {} of app {}: {} for operation {}", options_.name, options_.app,
            ToString(command.kind), command.operations);
  }
  book_.Post(std::move(command));
}

// The report may be late, and the shard open again: looked at once more on the executor's thread,
// the only one that opens shards.
void Engine::OnDrained(const ShardId& shard) {
  executor_.Post([this, shard] {
    if (gates_.Idle(shard)) book_.Handle(Drained{shard});
  });
}

void Engine::Report(const Grant& grant, double fraction) {
  book_.Post(Progress{grant.shard, grant.epoch, std::clamp(fraction, 0.0, 1.0)});
}

void Engine::Done(HandlerDone done) {
  if (done.method != CommandKind::kSetMembers) return book_.Post(std::move(done));
  executor_.Post([this, done = std::move(done)] {
    if (const auto pin = pinned_.extract(done.shard)) pin.mapped()->Release();
    book_.Handle(done);
  });
}

void Engine::Stop() {
  gates_.StopAdmitting();
  book_.Post(server::Stop{});
}

absl::StatusOr<Engine::Holdings> Engine::Look(const Command& header) const {
  if (header.server != options_.name || header.app != options_.app ||
      header.incarnation != incarnation_) {
    return absl::FailedPreconditionError(
        absl::StrCat("this is life ", incarnation_.value(), " of \"", options_.name, "\""));
  }
  const TimePoint now = executor_.Now();
  const TimePoint until = std::max(gates_.lease_until(), now);  // min() - now would overflow
  return Holdings{book_.core().held(), until - now};
}

void Engine::Close() {
  if (link_) link_->Close();
}

// ---- carrying out ----

// Pinned, so that no drain of the shard ends, and no other method of it is called, before
// UpdateMembership has returned.
void Engine::Do(HandlerCall& action) {
  if (action.method == CommandKind::kSetMembers) {
    AdmissionSlot* slot = gates_.Pin(action.grant.shard.value());
    if (slot == nullptr) return Done(DoneOf(action, absl::UnavailableError("it is closing")));
    pinned_[action.grant.shard] = slot;
  }
  ports_.call(action);
}

void Engine::Do(Warn& action) { LogWarning("{}", action.text); }

void Engine::Do(SetPolicy& action) {
  if (Planted(Defect::kStopsAllTheSame)) return;
  gates_.SetPolicy(action.on_partition);
}

void Engine::Do(BecameMember& action) {
  incarnation_ = action.incarnation;
  LogInfo("server {} of app {}: registered as life {} at {}", options_.name, options_.app,
          incarnation_.value(), endpoint_);
  book_.Post(Registered{incarnation_});
  ports_.joined(absl::OkStatus());
}

void Engine::Do(GiveUp& action) {
  LogError("server {} of app {} cannot join: {}", options_.name, options_.app,
           action.why.ToString());
  ports_.joined(action.why);
}

void Engine::Do(Waiting& action) {
  if (action.why.empty()) {
    LogInfo("server {} of app {}: a member of the cell", options_.name, options_.app);
  } else {
    LogWarning("server {} of app {}: {}", options_.name, options_.app, action.why);
  }
}

}  // namespace shardmanager::server
