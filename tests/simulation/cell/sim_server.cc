#include "tests/simulation/cell/sim_server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {

bool TriesPoison(const AppHabits& habits, const std::string& server, const ShardId& shard) {
  const bool tries = shard.value() == habits.poison && server != habits.can_add_poison;
  habits.poison_tries += tries;
  return tries;
}

const Duration kDrainTimeout = ServerOptions().drain_timeout;
const Duration kHoldTimeout = ServerOptions().hold_timeout;
constexpr Duration kAskAgain = Milliseconds(1);
// Fewer than by default, so that calls wait for each other.
constexpr int kHandlerThreads = 2;
constexpr size_t kMostRemembered = 64;

// Each machine is a rack of its own.
ServerOptions OptionsOf(const std::string& name, const std::string& region) {
  ServerOptions options;
  options.app = kApp;
  options.name = name;
  options.cell = kCell;
  options.command_threads = kHandlerThreads;
  options.fault_domain = {region, region + "-dc", "rack-of-" + name};
  options.drain_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kDrainTimeout);
  return options;
}

Duration SlowestOf(const AppHabits& habits, CommandKind method) {
  switch (method) {
    case CommandKind::kPrepareAdd:
    case CommandKind::kAdd:
      return habits.slowest_add;
    case CommandKind::kPrepareDrop:
    case CommandKind::kDrop:
      return habits.slowest_drop;
    case CommandKind::kChangeRole:
    case CommandKind::kSetMembers:
      return habits.slowest_work;
  }
  return habits.slowest_work;
}

}  // namespace

SimServer::SimServer(Context context, std::shared_ptr<Process> process, const std::string& name,
                     int life, const std::string& region)
    : context_(context),
      process_(std::move(process)),
      name_(name),
      endpoint_(absl::StrCat(name, ":", life)),
      stores_(context_.store.FactoryFor(process_, ServerName(name), AppName(kApp))),
      executor_(std::make_unique<SimExecutor>(process_, context_.network.random(), Duration(50))),
      engine_(std::make_unique<server::Engine>(OptionsOf(name, region), *executor_, *stores_,
                                               Ports(), &Process::CurrentNow)) {
  for (auto& [shard, copy] : context_.disk) copy.members.reset();
  engine_->Start(endpoint_);
}

SimServer::~SimServer() {
  if (!gone_) context_.store.Abandon(*process_);
  executor_->Stop();
  const Process::Within within(*process_);
  engine_.reset();
  process_->Kill();
}

Duration SimServer::UpTo(Duration most) {
  return Duration(static_cast<int64_t>(context_.network.random().Below(most.count() + 1)));
}

server::Engine::Ports SimServer::Ports() {
  return {.call = [this](const server::HandlerCall& call) { Handle(call); },
          .reply =
              [this](const server::Reply& reply) {
                const auto waiter = waiters_.find(reply.reply);
                if (waiter == waiters_.end()) return;
                const Results results = waiter->second.results;
                if (reply.last) waiters_.erase(waiter);
                results(reply);
              },
          .refuse =
              [this](const server::Refuse& refuse) {
                if (auto waiter = waiters_.extract(refuse.reply)) {
                  waiter.mapped().refusal(refuse.status);
                }
              },
          .joined = [](const absl::Status&) {},
          .emptied =
              [this] {
                if (!std::exchange(leaving_, true)) engine_->Leave(true);
              },
          .gone =
              [this] {
                gone_ = true;
                process_->schedule().After({},
                                           [left = context_.left, name = name_] { left(name); });
              }};
}

absl::Status SimServer::Run(const server::HandlerCall& call) {
  const server::Grant& grant = call.grant;
  const auto unless = [this](double chance_to_fail, const char* error) {
    const bool fails = context_.network.Lucky(chance_to_fail);
    return fails ? absl::InternalError(error) : absl::OkStatus();
  };
  switch (call.method) {
    case CommandKind::kPrepareAdd: {
      absl::Status status = unless(context_.habits.add_fails, "disk full");
      return TriesPoison(context_.habits, name_, grant.shard) ? absl::InternalError("data corrupt")
                                                              : status;
    }
    case CommandKind::kAdd:
      return RunAdd(grant);
    case CommandKind::kChangeRole: {
      absl::Status status = unless(context_.habits.add_fails, "disk full");
      return status.ok() ? Take(grant) : status;
    }
    case CommandKind::kSetMembers:
      return context_.quorum ? TakeFromMost(grant) : BringIntoStep(grant);
    case CommandKind::kPrepareDrop:
      return unless(context_.habits.drop_fails, "cannot flush");
    case CommandKind::kDrop:
      // What it could not drop counts as dropped, and its memory is free with the process.
      // (What is on disk stays: it may only be a restart.)
      if (auto copy = memory_.extract(grant.shard.value()); !copy.empty()) {
        shelf_[copy.key()] = std::move(copy.mapped());
      }
      return unless(context_.habits.drop_fails, "cannot flush");
  }
  return absl::InternalError("no such method");
}

absl::Status SimServer::RunAdd(const server::Grant& grant) {
  if (TriesPoison(context_.habits, name_, grant.shard)) return absl::InternalError("data corrupt");
  const bool sick = context_.habits.sick.contains(name_);
  const bool fails = sick || context_.network.Lucky(context_.habits.add_fails);
  if (sick) context_.witness.AddFailed(*this, grant);
  absl::Status status = fails ? absl::InternalError("disk full") : Take(grant);
  if (status.ok()) context_.witness.Added(*this);
  return status;
}

void SimServer::WorkLong(const std::string& shard, Duration time) {
  const Process::Within within(*process_);
  const auto admitted = engine_->gates().Admit({shard});
  if (admitted.slot == nullptr) return;
  process_->RunAfter(time, [alive = std::weak_ptr<int>(alive_), slot = admitted.slot] {
    if (!alive.expired()) slot->Release();
  });
}

void SimServer::Later(Duration most, std::function<void()> work) {
  process_->RunAfter(UpTo(most), [alive = std::weak_ptr<int>(alive_), work = std::move(work)] {
    if (!alive.expired()) work();
  });
}

// As the library's pools do: a few calls of each kind at a time, the others in order.
// How long a call takes is drawn when it begins: calls that were queued during a fault run at
// normal speed once it is over.
void SimServer::Handle(const server::HandlerCall& call) {
  LaneCalls& calls = lanes_[static_cast<size_t>(server::LaneOf(call))];
  calls.waiting.push_back(call);
  BeginCalls(calls);
}

void SimServer::BeginCalls(LaneCalls& calls) {
  while (calls.running < kHandlerThreads && !calls.waiting.empty()) {
    const server::HandlerCall call = std::move(calls.waiting.front());
    calls.waiting.pop_front();
    ++calls.running;
    Later(SlowestOf(context_.habits, call.method), [this, &calls, call] {
      engine_->Done(server::DoneOf(call, Run(call)));
      // The witness sees each right when it begins: before anybody asks, a pause may come.
      executor_->Then([this, shard = call.grant.shard.value()] { MayServe(shard); });
      --calls.running;
      BeginCalls(calls);
    });
  }
}

void SimServer::Terminate() {
  process_->Run([this] {
    for (const server::ShardBook::Held& shard : held()) {
      if (shard.serving) served_until_stop_[shard.grant.shard.value()] = shard.grant.role;
    }
    engine_->Stop();
  });
  // Requests that do not end in time are not waited for.
  process_->RunAfter(kDrainTimeout, [this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired() || std::exchange(leaving_, true)) return;
    engine_->Leave(!engine_->book().in_use());
  });
}

// ---- messages ----

void SimServer::Receive(server::Command command, Results results, Refusal refusal) {
  command.reply = ++last_reply_;
  context_.orders.Begin(endpoint_, command.grants);
  waiters_[command.reply] = {
      [this, results = std::move(results), arrival = command.reply, leader = command.leader_epoch,
       grants = command.grants](const server::Reply& reply) {
        NoteObeyed(arrival, leader);
        if (reply.last) context_.orders.End(endpoint_, grants, process_->schedule().now());
        results(reply);
      },
      [this, refusal = std::move(refusal), grants = command.grants](const absl::Status& status) {
        context_.orders.Refuse(endpoint_, grants);
        refusal(status);
      }};
  engine_->Obey(std::move(command));
}

// This server answered a command other than by refusing it. Answers may come in another order than
// the commands.
void SimServer::NoteObeyed(uint64_t arrival, LeaderEpoch leader) {
  obeyed_[arrival] = leader;
  LeaderEpoch newest;
  for (const auto& [order, epoch] : obeyed_) {
    if (epoch < newest) context_.witness.ObeyedDeposed(*this, newest, epoch);
    newest = std::max(newest, epoch);
  }
  while (obeyed_.size() > kMostRemembered) obeyed_.erase(obeyed_.begin());
}

void SimServer::Receive(const server::Command& header,
                        const std::function<void(absl::StatusOr<server::Engine::Holdings>)>& done) {
  done(engine_->Look(header));
}

void SimServer::Receive(const Request& request, const Done& done) {
  Admit(request, done, process_->LocalNow() + kHoldTimeout);
}

// As ServerImpl::Admit has it; what is held asks again, as it cannot block.
void SimServer::Admit(const Request& request, const Done& done, TimePoint held_until) {
  const server::Forwarder by{request.forwarded_by, request.forwarded_to};
  const auto admitted = engine_->gates().Admit(
      {request.shard, request.forwarded_by.empty() ? nullptr : &by, request.for_primary});
  if (admitted.slot != nullptr) return Work(request, done, admitted);
  if (admitted.forward_to != nullptr) return Forward(request, done, *admitted.forward_to);
  const TimePoint until = admitted.lapsed_at
                              ? std::min<TimePoint>(held_until, *admitted.lapsed_at + kHoldTimeout)
                              : held_until;
  if (admitted.held_at == nullptr || process_->LocalNow() >= until) {
    return done(RequestEnd::kRefused);
  }
  process_->RunAfter(kAskAgain,
                     [this, alive = std::weak_ptr<int>(alive_), request, done, held_until] {
                       if (!alive.expired()) Admit(request, done, held_until);
                     });
}

void SimServer::Work(const Request& request, const Done& done,
                     const server::AdmissionTable::Admitted& admitted) {
  context_.witness.Admitted(*this, request.shard, admitted.role, admitted.epoch);
  context_.witness.Processed(request.id);
  const auto work = works_.emplace(request.shard, Processing{admitted.epoch, incarnation()});
  const bool writes = context_.replicates && admitted.role == Role::kPrimary;
  Later(context_.habits.slowest_work, [this, slot = admitted.slot, work, done, writes, request] {
    const ShardEpoch epoch = work->second.epoch;
    works_.erase(work);
    const bool known = !writes || Replicate(request.shard, epoch, request.id);
    slot->Release();
    if (!known) return;  // nobody says whether it is done
    if (writes) context_.witness.Acknowledged(request.shard, epoch, request.id);
    done(RequestEnd::kAnswered);
  });
}

// The answer goes back the way that the request came; if it is lost, the client waits.
void SimServer::Forward(Request request, const Done& done, const server::Successor& to) {
  SimServer* there = context_.server(to.endpoint);
  if (there == nullptr) return done(RequestEnd::kRefused);  // no connection: nothing was sent
  request.forwarded_by = name_;
  request.forwarded_to = to.epoch;
  Network& network = context_.network;
  network.Send(process_->host(), there->process(),
               [&network, find = context_.server, endpoint = to.endpoint, back = process_, request,
                done, from = there->process()->host()] {
                 SimServer* found = find(endpoint);
                 if (found == nullptr) return;
                 found->Receive(request, [&network, back, done, from](RequestEnd end) {
                   network.Send(from, back, [done, end] { done(end); });
                 });
               });
}

// ---- looks from outside ----

std::optional<SimServer::Right> SimServer::MayServe(const std::string& shard) {
  if (!process_->running()) return std::nullopt;
  const Process::Within within(*process_);
  const auto admitted = engine_->gates().Admit({shard});
  if (admitted.slot == nullptr) return std::nullopt;
  admitted.slot->Release();
  context_.witness.Admitted(*this, shard, admitted.role, admitted.epoch);
  return Right{admitted.role, admitted.epoch};
}

bool SimServer::WorksBelow(const std::string& shard, ShardEpoch epoch) const {
  const auto [begin, end] = works_.equal_range(shard);
  for (auto work = begin; work != end; ++work) {
    if (work->second.epoch < epoch && work->second.life == incarnation()) return true;
  }
  return false;
}

}  // namespace shardmanager::simulation
