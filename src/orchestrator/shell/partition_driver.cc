#include "orchestrator/shell/partition_driver.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "model/spec/spec_validation.h"
#include "model/text.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/shell/release.h"
#include "runtime/clock.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kRetryDelay = Milliseconds(500);
// The wall clock was set, or has drifted so far from the core's that maintenances begin at another
// moment.
constexpr Duration kClockMoved = Milliseconds(100);

// Moves and joins are told at info, trouble at warning.
spdlog::level::level_enum LevelOf(NoteKind kind) {
  switch (kind) {
    case NoteKind::kServerLost:
    case NoteKind::kServerUnsteady:
    case NoteKind::kShardUnplaceable:
    case NoteKind::kCommandFailed:
    case NoteKind::kShardPoisoned:
    case NoteKind::kServerQuarantined:
    case NoteKind::kUncleanPromotion:
    case NoteKind::kMoveCalledOff:
    case NoteKind::kWriteRefused:
    case NoteKind::kRecordTooLarge:
    case NoteKind::kEpochsBehind:
    case NoteKind::kLoadRefused:
    case NoteKind::kMaintenanceHits:
    case NoteKind::kMapMissing:
    case NoteKind::kShardHot:
    case NoteKind::kKeyHot:
      return spdlog::level::warn;
    case NoteKind::kMoveStarted:
    case NoteKind::kMoveFinished:
    case NoteKind::kPrimaryElected:
    case NoteKind::kShardServing:
      return spdlog::level::debug;
    default:
      return spdlog::level::info;
  }
}

// From here on somebody is in charge of the app again. The first map follows when the
// servers have said what they hold.
v1::ControlEvent TakenOver(const Tables& tables, int64_t after_ms) {
  v1::ControlEvent event;
  event.set_kind("AppTakenOver");
  event.set_message(absl::StrCat(::shardmanager::Counted(tables.replica_count(), "replica"), " on ",
                                 ::shardmanager::Counted(tables.server_count(), "server"),
                                 " read back in ", after_ms, " ms"));
  return event;
}

OperatorOrders OrderedNow(const SpecWatch& spec, const DriverContext& context) {
  return spec.ordered(context.executor->Now(), context.wall_ms());
}

SpecChanged SpecNow(const SpecWatch& spec, const DriverContext& context) {
  return {WithDefaults(spec.stored().spec()), spec.stored().deleting(), OrderedNow(spec, context)};
}

// The wall clock, less the one that the core is told of.
Duration WallOffset(const DriverContext& context) {
  return Milliseconds(context.wall_ms()) - context.executor->Now().time_since_epoch();
}

void Record(EventLog& events, const AppName& app, spdlog::level::level_enum level,
            v1::ControlEvent event) {
  event.set_app(app.value());
  // What somebody asked for can be followed, however little it is otherwise.
  const bool asked = !event.operation().empty();
  if (asked) level = std::max(level, spdlog::level::info);
  spdlog::log(level, "{} app={} server={} shard={}{}{} {}", event.kind(), event.app(),
              event.server(), event.shard(), asked ? " operation=" : "",
              absl::CEscape(event.operation()), event.message());
  events.Append(std::move(event));
}

int64_t MsSince(TimePoint begun, const Executor& executor) {
  return (executor.Now() - begun) / Milliseconds(1);
}

}  // namespace

PartitionDriver::PartitionDriver(DriverContext context, AppName app, Counted counted,
                                 Callbacks callbacks)
    : context_(std::move(context)),
      app_(std::move(app)),
      callbacks_(std::move(callbacks)),
      damaged_(MakeWriterOptions(), *context_.events,
               [this](const DamagedRecord&) { callbacks_.restart(); }),
      spec_(MakeWriterOptions(), SpecCallbacks()),
      removal_(MakeWriterOptions(), *context_.executor, callbacks_.deleted),
      counted_(counted),
      maps_(context_.leader_epoch, counted.maps, context_.cell, context_.cell_made_ms) {}

PartitionDriver::~PartitionDriver() { context_.events->Hide(app_.value()); }

PostFn PartitionDriver::MakePost(std::weak_ptr<int> alive) const {
  return [executor = context_.executor, alive = std::move(alive)](auto task) {
    executor->Post([alive, task = std::move(task)] {
      if (!alive.expired()) task();
    });
  };
}

WriterOptions PartitionDriver::MakeWriterOptions() {
  return {context_.store,        context_.paths,   app_,      context_.buckets,
          context_.leader_epoch, MakePost(alive_), &damaged_, context_.meter};
}

const PartitionState* PartitionDriver::state() const {
  return core_ == nullptr ? nullptr : &core_->core().state();
}

Counted PartitionDriver::counted() const {
  return {core_ == nullptr ? counted_.epochs : core_->core().epochs_given(),
          maps_.version().sequence()};
}

// ---- reading the state ----

void PartitionDriver::Start() {
  started_at_ = context_.executor->Now();
  spec_.Read();
}

SpecWatch::Callbacks PartitionDriver::SpecCallbacks() {
  SpecWatch::Callbacks callbacks;
  callbacks.adopted = [this] { OnSpec(); };
  callbacks.deleted = callbacks_.deleted;
  callbacks.unreachable = [this](const absl::Status& why) { RetryLater(why); };
  callbacks.damaged = [this](const absl::Status& why) { problem_ = why; };
  return callbacks;
}

void PartitionDriver::TakeSpec(v1::StoredSpec stored, int32_t version) {
  spec_.Take(std::move(stored), version);
}

void PartitionDriver::OnSpec() {
  problem_ = absl::OkStatus();
  if (core_ != nullptr) {
    SpecChanged changed = SpecNow(spec_, context_);
    const v1::AppSpec spec = changed.spec;
    // (A record that was put in the place of a damaged one, or edited by hand.)
    const bool mirrors = Mirrors(core_->core().state());
    if (mirrors != (spec.orchestrator() == v1::APPLICATION)) return callbacks_.restart();
    core_->Handle(std::move(changed));
    tasks_->ChangeSpec(spec);
  } else if (watch_ == nullptr) {
    BeginRecovery();
  }
}

void PartitionDriver::BeginRecovery() {
  early_.clear();
  attempt_ = std::make_shared<int>();
  WriterOptions options = MakeWriterOptions();
  options.post = MakePost(attempt_);
  watch_ = std::make_unique<ServerWatch>(options, [this](Event event) { Hear(std::move(event)); });
  AppTasks::Ports ports;
  ports.state = [this]() -> const PartitionState& { return core_->core().state(); };
  ports.order = [this](OrdersChanged orders) { core_->Handle(std::move(orders)); };
  ports.record = [this](v1::ControlEvent event) {
    Record(*context_.events, app_, spdlog::level::info, std::move(event));
  };
  ports.deposed = callbacks_.deposed;
  tasks_ = std::make_unique<AppTasks>(
      *context_.executor,
      taskcontroller::OperationStore::Context{context_.store, context_.paths, app_,
                                              context_.leader_epoch, options.post},
      std::move(ports));
  Recover(options, *watch_, [this](absl::StatusOr<RecoveredState> state) {
    if (!state.ok()) return OnRecovered(std::move(state));
    tasks_->Read([this, state = std::move(state)](const absl::Status& read) mutable {
      OnRecovered(read.ok() ? std::move(state) : read);
    });
  });
}

void PartitionDriver::OnRecovered(absl::StatusOr<RecoveredState> state) {
  if (!state.ok()) {
    attempt_.reset();
    tasks_.reset();
    watch_.reset();
    return RetryLater(state.status());
  }
  problem_ = absl::OkStatus();
  writer_ = std::make_unique<BatchWriter>(MakeWriterOptions(), std::move(state->records));
  core_ = std::make_unique<CoreDriver<Partition>>(
      *context_.executor,
      PartitionOptions{.leader_epoch = context_.leader_epoch, .epochs_given = counted_.epochs},
      [this](Action& action) { std::visit([this](auto& a) { Do(a); }, action); });
  calls_.emplace(
      ServerCalls::Context{.sender = *context_.sender,
                           .app = app_,
                           .leader_epoch = context_.leader_epoch,
                           .post = MakePost(alive_),
                           .state = core_->core().state(),
                           .handle = [this](Event event) { core_->Handle(std::move(event)); },
                           .meter = context_.meter});
  state->event.spec = WithDefaults(spec_.stored().spec());
  state->event.deleting = spec_.stored().deleting();
  state->event.ordered = OrderedNow(spec_, context_);
  tasks_->Begin(state->event.spec);  // what it orders holds from the first decision on
  core_->Handle(std::move(state->event));
  Record(*context_.events, app_, spdlog::level::info,
         TakenOver(core_->core().state().tables, MsSince(started_at_, *context_.executor)));
  if (context_.meter != nullptr) {
    context_.meter->TookOver(context_.executor->Now() - started_at_);
  }
  for (Event& event : std::exchange(early_, {})) core_->Handle(std::move(event));
}

void PartitionDriver::RetryLater(const absl::Status& why) {
  if (problem_ != why) {
    spdlog::warn("app {}: its state cannot be read yet, trying again: {}", app_.value(),
                 why.ToString());
  }
  problem_ = why;
  context_.executor->PostAt(context_.executor->Now() + kRetryDelay,
                            [this, alive = std::weak_ptr<int>(alive_)] {
                              if (alive.expired()) return;
                              if (!spec_.watched()) return spec_.Read();
                              if (core_ == nullptr && watch_ == nullptr) BeginRecovery();
                            });
}

void PartitionDriver::Relook() {
  if (core_ != nullptr) {
    watch_->Relist();
    const Duration offset = WallOffset(context_);
    const bool moved = std::chrono::abs(offset - wall_offset_) >= kClockMoved;
    if (moved) wall_offset_ = offset;
    if (moved && !spec_.stored().maintenances().empty()) core_->Handle(SpecNow(spec_, context_));
  }
  damaged_.Relook();
}

void PartitionDriver::Release(const std::string& server,
                              std::function<void(absl::StatusOr<std::string>)> done,
                              Wanted wanted) {
  const DamagedRecord* record = damaged_.Find(RecordKind::kAssignment, server);
  if (record == nullptr) {
    return done(absl::NotFoundError(
        absl::StrCat("the assignment record of server \"", server, "\" is not damaged")));
  }
  ReleaseAssignment(
      MakeWriterOptions(), *record,
      [this, post = MakePost(alive_), done, kept_at = record->kept_at](absl::Status status) {
        post([this, done, kept_at, status] {
          if (!status.ok()) return done(status);
          done(kept_at);
          callbacks_.restart();
        });
      },
      std::move(wanted));
}

void PartitionDriver::Hear(Event event) {
  if (core_ == nullptr) {
    early_.push_back(std::move(event));
  } else {
    core_->Handle(std::move(event));
  }
}

// ---- carrying out ----

void PartitionDriver::Do(Persist& action) {
  if (Planted(Defect::kActBeforePersist)) core_->Post(WriteDone{action.batch});
  writer_->Write(action, core_->core().state().tables, [this](WriteDone done) {
    if (done.outcome == WriteOutcome::kConflict && !Planted(Defect::kNoRecheck)) {
      watch_->Recheck(core_->core().state().tables.name(done.conflict));
    }
    core_->Handle(done);
  });
}

void PartitionDriver::Do(ComputePlan& action) {
  auto request = std::make_shared<ComputePlan>(std::move(action));
  context_.solver->Post([this, post = MakePost(alive_), request, meter = context_.meter,
                         app = app_] {
    const TimePoint begun = MonotonicNow();
    auto plan =
        std::make_shared<allocator::Plan>(allocator::Solve(request->snapshot, request->options));
    const Duration took = MonotonicNow() - begun;
    spdlog::debug("plan {}: {} moves, {} steps, {} us", request->id, plan->moves.size(),
                  plan->steps, took.count());
    if (meter != nullptr) meter->Planned(took);
    post([this, id = request->id, plan] { core_->Handle(PlanReady{id, std::move(*plan)}); });
  });
}

void PartitionDriver::Do(Publish& action) {
  const bool first = maps_.version().sequence() == counted_.maps;
  if (action.whole) {
    context_.publisher->Publish(app_, maps_.Whole(core_->core().state()));
  } else {
    context_.publisher->Publish(app_, maps_.Delta(core_->core().state(), action.shards));
  }
  if (!first) return;
  spdlog::info("app {}: first map published, {} ms after its records were asked for", app_.value(),
               MsSince(started_at_, *context_.executor));
}

void PartitionDriver::Do(Note& action) {
  Record(*context_.events, app_, LevelOf(action.kind), DescribeNote(core_->core().state(), action));
}

}  // namespace shardmanager::orchestrator
