#include "orchestrator/shell/partition_driver.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "coordination/election.h"
#include "coordination/records.h"
#include "model/spec_validation.h"
#include "model/text.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/shell/bulk_read.h"
#include "orchestrator/shell/release.h"
#include "runtime/clock.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kRetryDelay = Milliseconds(500);
// Deletes in one multi: paths are short, so this stays far below its size limit.
constexpr size_t kDeletesPerWrite = 1'000;

// Moves and joins are told at info, trouble at warning.
spdlog::level::level_enum LevelOf(NoteKind kind) {
  switch (kind) {
    case NoteKind::kServerLost:
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
      return spdlog::level::warn;
    case NoteKind::kMoveStarted:
    case NoteKind::kPrimaryElected:
    case NoteKind::kShardServing:
      return spdlog::level::debug;
    default:
      return spdlog::level::info;
  }
}

}  // namespace

PartitionDriver::PartitionDriver(DriverContext context, AppName app, Counted counted,
                                 Callbacks callbacks)
    : context_(std::move(context)),
      app_(std::move(app)),
      callbacks_(std::move(callbacks)),
      damaged_(MakeWriterOptions(), *context_.events,
               [this](const DamagedRecord&) { callbacks_.restart(); }),
      counted_(counted),
      maps_(context_.leader_epoch, counted.maps, context_.cell, context_.cell_made_ms) {}

PartitionDriver::~PartitionDriver() = default;

PostFn PartitionDriver::MakePost(std::weak_ptr<int> alive) const {
  return [executor = context_.executor, alive = std::move(alive)](auto task) {
    executor->Post([alive, task = std::move(task)] {
      if (!alive.expired()) task();
    });
  };
}

WriterOptions PartitionDriver::MakeWriterOptions() {
  return {context_.store,        context_.paths, app_,     context_.buckets,
          context_.leader_epoch, MakePost(),     &damaged_};
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
  ReadSpec();
}

void PartitionDriver::ReadSpec() {
  spec_watched_ = true;
  const PostFn post = MakePost();
  context_.store->Get(
      context_.paths.spec(app_),
      [this, post](absl::StatusOr<Node> node) {
        post([this, node = std::move(node)] { OnSpec(node); });
      },
      [this, post] { post([this] { ReadSpec(); }); });
}

void PartitionDriver::OnSpec(const absl::StatusOr<Node>& node) {
  if (absl::IsNotFound(node.status())) return callbacks_.deleted();
  if (!node.ok()) {
    spec_watched_ = false;
    return RetryLater(node.status());
  }
  if (node->stat.version == spec_version_) return;
  v1::StoredSpec stored;
  if (absl::Status status = OpenSpec(node->data, app_, &stored); !status.ok()) {
    problem_ = status;
    return damaged_.Add(RecordKind::kSpec, "", context_.paths.spec(app_), *node, status);
  }
  AdoptSpec(std::move(stored), node->stat.version);
}

void PartitionDriver::TakeSpec(v1::StoredSpec stored, int32_t version) {
  if (version > spec_version_) AdoptSpec(std::move(stored), version);
}

void PartitionDriver::AdoptSpec(v1::StoredSpec stored, int32_t version) {
  damaged_.Resolved(context_.paths.spec(app_));
  problem_ = absl::OkStatus();
  spec_ = std::move(stored);
  spec_version_ = version;
  if (core_ != nullptr) {
    core_->Handle(SpecChanged{WithDefaults(spec_.spec()), spec_.deleting(), Drains()});
  } else if (watch_ == nullptr) {
    BeginRecovery();
  }
}

std::vector<v1::Drain> PartitionDriver::Drains() const {
  return {spec_.drains().begin(), spec_.drains().end()};
}

void PartitionDriver::BeginRecovery() {
  early_.clear();
  attempt_ = std::make_shared<int>();
  WriterOptions options = MakeWriterOptions();
  options.post = MakePost(attempt_);
  watch_ = std::make_unique<ServerWatch>(options, [this](Event event) { Feed(std::move(event)); });
  Recover(options, *watch_,
          [this](absl::StatusOr<RecoveredState> state) { OnRecovered(std::move(state)); });
}

void PartitionDriver::OnRecovered(absl::StatusOr<RecoveredState> state) {
  if (!state.ok()) {
    attempt_.reset();
    watch_.reset();
    return RetryLater(state.status());
  }
  problem_ = absl::OkStatus();
  writer_ = std::make_unique<BatchWriter>(MakeWriterOptions(), std::move(state->records));
  core_ = std::make_unique<CoreDriver<Partition>>(
      *context_.executor,
      PartitionOptions{.leader_epoch = context_.leader_epoch, .epochs_given = counted_.epochs},
      [this](Action& action) { Perform(action); });
  state->event.spec = WithDefaults(spec_.spec());
  state->event.deleting = spec_.deleting();
  state->event.drains = Drains();
  core_->Handle(std::move(state->event));
  SayTakenOver();
  for (Event& event : std::exchange(early_, {})) core_->Handle(std::move(event));
}

int64_t PartitionDriver::SinceStart() const {
  return (context_.executor->Now() - started_at_) / Milliseconds(1);
}

// From here on somebody is in charge of the app again. The first map follows when the
// servers have said what they hold.
void PartitionDriver::SayTakenOver() {
  const Tables& tables = core_->core().state().tables;
  v1::ControlEvent event;
  event.set_app(app_.value());
  event.set_kind("AppTakenOver");
  event.set_message(absl::StrCat(::shardmanager::Counted(tables.replica_count(), "replica"), " on ",
                                 ::shardmanager::Counted(tables.server_count(), "server"),
                                 " read back in ", SinceStart(), " ms"));
  spdlog::info("{} app={} {}", event.kind(), event.app(), event.message());
  context_.events->Append(std::move(event));
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
                              if (!spec_watched_) return ReadSpec();
                              if (core_ == nullptr && watch_ == nullptr) BeginRecovery();
                            });
}

void PartitionDriver::Relook() {
  if (core_ != nullptr) watch_->Relist();
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
      [this, post = MakePost(), done, kept_at = record->kept_at](absl::Status status) {
        post([this, done, kept_at, status] {
          if (!status.ok()) return done(status);
          done(kept_at);
          callbacks_.restart();
        });
      },
      std::move(wanted));
}

void PartitionDriver::Feed(Event event) {
  if (core_ == nullptr) {
    early_.push_back(std::move(event));
  } else {
    core_->Handle(std::move(event));
  }
}

void PartitionDriver::SubscriberIsAhead(MapVersion known) {
  Feed(LaterLeaderSeen{absl::StrCat(
      "a client or relay holds map ", known.ToString(), ", of leader epoch ", known.leader_epoch,
      ", and takes no map of this leader, whose epoch is ", context_.leader_epoch.value())});
}

// ---- carrying out ----

void PartitionDriver::Perform(Action& action) {
  std::visit([this](auto& a) { Do(a); }, action);
}

void PartitionDriver::Do(Persist& action) {
  if (Planted(Defect::kActBeforePersist)) core_->Post(WriteDone{action.batch});
  writer_->Write(action, core_->core().state().tables, [this](WriteDone done) {
    if (done.outcome == WriteOutcome::kConflict && !Planted(Defect::kNoRecheck)) {
      watch_->Recheck(core_->core().state().tables.name(done.conflict));
    }
    core_->Handle(done);
  });
}

ServerAddress PartitionDriver::AddressOf(ServerIndex server, Incarnation incarnation) const {
  const Tables& tables = core_->core().state().tables;
  return {app_, ServerName(tables.name(server)), incarnation, context_.leader_epoch,
          tables.server(server).endpoint};
}

Members PartitionDriver::Named(const std::vector<ServerIndex>& servers) const {
  const Tables& tables = core_->core().state().tables;
  Members members;
  for (ServerIndex id : servers) {
    members.push_back({ServerName(tables.name(id)), tables.server(id).endpoint});
  }
  std::sort(members.begin(), members.end(),
            [](const Peer& a, const Peer& b) { return a.server < b.server; });
  return members;
}

void PartitionDriver::Do(SendCommands& action) {
  const Tables& tables = core_->core().state().tables;
  ServerCommand command{.kind = action.kind};
  command.grants.reserve(action.grants.size());
  for (const Grant& g : action.grants) {
    command.grants.push_back({ShardId(tables.name(g.shard)), g.role, g.epoch, g.next_epoch});
    if (g.members.empty()) continue;
    command.grants.back().members = Named(g.members);
    command.grants.back().members_version = g.members_version;
  }
  if (action.other.valid()) {
    command.other = {ServerName(tables.name(action.other)), tables.server(action.other).endpoint};
  }
  spdlog::debug("app {}: {} {} shards at {}", app_.value(), ToString(action.kind),
                command.grants.size(), tables.name(action.server));
  const bool believes =
      (Planted(Defect::kDropNotAwaited) && action.kind == CommandKind::kDrop) ||
      (Planted(Defect::kPromotesEarly) && action.kind == CommandKind::kChangeRole);
  if (believes) {
    for (const Grant& g : action.grants) {
      core_->Post(CommandResult{action.kind, CommandOutcome::kDone, action.server,
                                action.incarnation, g.shard, g.epoch});
    }
  }
  const Duration timeout = Milliseconds(core_->core().state().spec.commands().timeout_ms());
  context_.sender->Send(
      AddressOf(action.server, action.incarnation), std::move(command), timeout,
      [this, post = MakePost(), server = action.server, incarnation = action.incarnation,
       kind = action.kind](std::vector<NamedResult> results) {
        post([=, this, results = std::move(results)] {
          OnResults(server, incarnation, kind, results);
        });
      });
}

void PartitionDriver::OnResults(ServerIndex server, Incarnation incarnation, CommandKind kind,
                                std::vector<NamedResult> results) {
  for (NamedResult& r : results) {
    const ShardIndex shard = core_->core().state().tables.FindShard(r.shard.value());
    if (!shard.valid()) continue;
    core_->Handle(CommandResult{kind, r.outcome, server, incarnation, shard, r.epoch,
                                static_cast<float>(r.progress), std::move(r.error),
                                r.serving_epoch});
  }
}

void PartitionDriver::Do(Collect& action) {
  context_.sender->Collect(
      AddressOf(action.server, action.incarnation),
      [this, post = MakePost(), server = action.server,
       incarnation = action.incarnation](absl::StatusOr<std::vector<HeldReplica>> held) {
        ServerReport report{.server = server, .incarnation = incarnation, .ok = held.ok()};
        if (held.ok()) report.held = *std::move(held);
        post([this, report = std::move(report)] { core_->Handle(report); });
      });
}

void PartitionDriver::Do(ComputePlan& action) {
  auto request = std::make_shared<ComputePlan>(std::move(action));
  context_.solver->Post([this, post = MakePost(), request] {
    const TimePoint begun = MonotonicNow();
    auto plan =
        std::make_shared<allocator::Plan>(allocator::Solve(request->snapshot, request->options));
    spdlog::debug("plan {}: {} moves, {} steps, {} us", request->id, plan->moves.size(),
                  plan->steps, (MonotonicNow() - begun).count());
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
               SinceStart());
}

void PartitionDriver::Do(Note& action) {
  v1::ControlEvent event = DescribeNote(core_->core().state(), action);
  event.set_app(app_.value());
  spdlog::log(LevelOf(action.kind), "{} app={} server={} shard={} {}", event.kind(), event.app(),
              event.server(), event.shard(), event.message());
  context_.events->Append(std::move(event));
}

void PartitionDriver::Do(StepDown&) { callbacks_.deposed(); }

// The assignments first, the spec last: while it is there, a successor goes on here.
// Registrations stay: they count the lives of servers that may still run.
void PartitionDriver::Do(Emptied&) {
  std::vector<std::string> folders;
  for (uint32_t b = 0; b < context_.buckets; ++b) {
    folders.push_back(Paths::bucket(context_.paths.assignments(app_), b));
  }
  ListAll(*context_.store, std::move(folders), [this, post = MakePost()](auto paths) {
    post([this, paths = std::move(paths)] {
      if (!paths.ok()) return EmptyLater(paths.status());
      std::vector<WriteOp> ops;
      for (const std::string& path : *paths) ops.push_back(DeleteNode{path});
      ops.push_back(DeleteNode{context_.paths.spec(app_)});
      DeleteRecords(std::move(ops), 0);
    });
  });
}

// What is there is listed anew: some of it may have gone.
void PartitionDriver::EmptyLater(const absl::Status& why) {
  spdlog::warn("app {}: its records could not be deleted, trying again: {}", app_.value(),
               why.ToString());
  context_.executor->PostAt(context_.executor->Now() + kRetryDelay,
                            [this, alive = std::weak_ptr<int>(alive_)] {
                              if (alive.expired()) return;
                              Emptied again;
                              Do(again);
                            });
}

void PartitionDriver::DeleteRecords(std::vector<WriteOp> ops, size_t from) {
  std::vector<WriteOp> some;
  some.push_back(LeaderFence(context_.paths, context_.leader_epoch));
  const size_t end = std::min(ops.size(), from + kDeletesPerWrite);
  some.insert(some.end(), ops.begin() + static_cast<std::ptrdiff_t>(from),
              ops.begin() + static_cast<std::ptrdiff_t>(end));
  context_.store->Multi(std::move(some),
                        [this, post = MakePost(), ops = std::move(ops), end](WriteResult result) {
                          post([this, ops, end, result] {
                            if (!result.status.ok()) return EmptyLater(result.status);
                            if (end < ops.size()) return DeleteRecords(ops, end);
                            spdlog::info("app {}: deleted", app_.value());
                            callbacks_.deleted();
                          });
                        });
}

}  // namespace shardmanager::orchestrator
