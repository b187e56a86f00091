#include "server/server_impl.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/endpoint.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"
#include "runtime/logging.h"
#include "runtime/process_name.h"
#include "server/contain.h"
#include "wire/keepalive.h"

namespace shardmanager {
namespace {

// Longest that Shutdown waits for the application's gRPC calls after its shards are
// gone; later ones are cancelled.
constexpr std::chrono::seconds kGrpcPatience{1};
// A shard is handed over without a connection to its new owner if there is none by then.
constexpr Duration kConnectFirst = Milliseconds(250);

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= 127 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

absl::Status CheckOptions(const ServerOptions& options) {
  const std::pair<const char*, const std::string*> names[] = {
      {"app", &options.app}, {"name", &options.name}, {"cell", &options.cell}};
  for (const auto& [field, value] : names) {
    if (IsName(*value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("ServerOptions.", field, ": found \"", *value,
                     "\"; allowed: 1 to 127 characters of [A-Za-z0-9._-]"));
  }
  const std::string wrong = WhatIsWrongWithEndpoint(options.listen, /*to_listen=*/true);
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("ServerOptions.listen: ", wrong));
  }
  return absl::OkStatus();
}

std::string AdvertisedHost(const ServerOptions& options) {
  if (!options.advertise_host.empty()) return options.advertise_host;
  const std::string host = options.listen.substr(0, options.listen.rfind(':'));
  if (host != "0.0.0.0" && host != "[::]" && !host.empty()) return host;
  return HostName();
}

// Of the call's own time.
Duration Left(const grpc::ServerContextBase& context) {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = context.deadline();
  if (deadline == system_clock::time_point::max()) return Duration::max();
  return std::chrono::duration_cast<Duration>(deadline - system_clock::now());
}

using Figures = std::map<std::string, double>;

// None, if an exception leaves the application's method.
Figures FiguresOf(std::string_view method, absl::FunctionRef<Figures()> ask) {
  Figures figures;
  server::Contained(method, [&] {
    figures = ask();
    return absl::OkStatus();
  }).IgnoreError();
  return figures;
}

std::string_view MethodName(CommandKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"AddShard",        "DropShard",
                                                      "PrepareAddShard", "PrepareDropShard",
                                                      "ChangeRole",      "UpdateMembership"};
  return kNames[static_cast<size_t>(kind)];
}

ShardGrant ToHandler(const server::Grant& grant) {
  return {grant.shard, grant.role, grant.epoch, grant.old_owner, grant.members, grant.origin};
}

// Held while it is asked, so that no AddShard or DropShard of it runs meanwhile.
std::map<std::string, double> LoadOf(server::AdmissionTable& gates, ShardHandler& handler,
                                     const ShardId& shard) {
  server::AdmissionSlot* slot = gates.Pin(shard.value());
  if (slot == nullptr) return {};
  std::map<std::string, double> load =
      FiguresOf("CollectLoad", [&] { return handler.CollectLoad(shard); });
  slot->Release();
  return load;
}

// What they may do then is another matter.
std::vector<security::Expected> WhoMayConnect(const std::string& app) {
  return {security::AControlPlane(), security::AServerOf(app), security::AClientOf(app),
          security::AnOperator()};
}

}  // namespace

ServerImpl::ServerImpl(ServerOptions options, server::Environment environment)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      read_request_(options_.app, options_.name),
      service_(ServiceCallbacks()),
      others_(environment_.transport, options_.app),
      forwarding_(options_.app, options_.name, others_.Opener()),
      pools_(options_.command_threads),
      executor_(*environment_.executor),
      engine_(options_, executor_, *environment_.stores, EnginePorts(), environment_.now),
      traffic_(engine_.gates(), MonotonicNow()),
      hooks_(options_),
      callbacks_(*this, hooks_, engine_.gates(), forwarding_, options_.command_threads) {}

ServerImpl::~ServerImpl() {
  Shutdown();
  executor_.Stop();
}

// ---- start ----

absl::Status ServerImpl::Listen(const std::vector<grpc::Service*>& services) {
  int port = 0;
  grpc::ServerBuilder builder;
  // A taken port is an error, not half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // One queue: tens of such servers share a small machine in tests; a request's work
  // is the application's, not the queue's.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  wire::AllowPings(builder);
  std::unique_ptr<wire::MixedPort> mixed;
  if (options_.credentials != nullptr) {
    builder.AddListeningPort(options_.listen, options_.credentials, &port);
  } else {
    mixed = environment_.transport->ListenAt(options_.listen, WhoMayConnect(options_.app), builder,
                                             &port);
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.RegisterService(service_.Beside(services));
  if (options_.builder) options_.builder(builder);
  grpc_ = wire::StartWith(std::move(mixed), builder);
  if (grpc_.server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options_.listen,
                     ": is the port taken, or not an address of this machine?"));
  }
  endpoint_ = absl::StrCat(AdvertisedHost(options_), ":", port);
  return absl::OkStatus();
}

absl::Status ServerImpl::Start(ShardHandler& handler, const std::vector<grpc::Service*>& services) {
  if (absl::Status status = BeginLife(); !status.ok()) return status;
  if (absl::Status status = Prepare(handler, services); !status.ok()) {
    std::lock_guard lock(mutex_);
    if (life_ == Life::kBegun) life_ = Life::kNew;
    return status;
  }
  std::unique_lock lock(mutex_);
  linked_ = life_ != Life::kOver;  // a Shutdown may have come meanwhile
  if (linked_) engine_.Start(endpoint_);
  changed_.wait(lock, [this] { return started_ || stop_requested_; });
  return started_ ? *started_ : absl::CancelledError("stopped before it could register");
}

absl::Status ServerImpl::BeginLife() {
  std::lock_guard lock(mutex_);
  switch (life_) {
    case Life::kNew:
      life_ = Life::kBegun;
      return absl::OkStatus();
    case Life::kBegun:
      return absl::FailedPreconditionError("Start was called before; a Server starts once");
    case Life::kOver:
      break;
  }
  return absl::FailedPreconditionError(
      "Start was called after Shutdown; a Server has one life: make another one");
}

absl::Status ServerImpl::Prepare(ShardHandler& handler,
                                 const std::vector<grpc::Service*>& services) {
  if (absl::Status status = CheckOptions(options_); !status.ok()) return status;
  if (!environment_.problem.ok()) return environment_.problem;
  if (environment_.around) around_handler_ = environment_.around(handler);
  handler_ = around_handler_ != nullptr ? around_handler_.get() : &handler;
  return Listen(services);
}

server::ShardServerService::Callbacks ServerImpl::ServiceCallbacks() {
  server::ShardServerService::Callbacks callbacks;
  callbacks.check_caller = [this](const grpc::ServerContextBase& context) {
    return environment_.transport->CheckCaller(context, {security::AControlPlane()});
  };
  callbacks.command = [this](server::Command command) {
    if (command.successors.empty()) return engine_.Obey(std::move(command));
    // All of one command go to one server. While it is connected to, which takes a while with TLS,
    // requests are processed here as before; held ones would wait for it.
    const std::string endpoint = command.successors.front().endpoint;
    forwarding_.Connect(endpoint, MonotonicNow() + kConnectFirst,
                        [this, command = std::move(command)] { engine_.Obey(command); });
  };
  callbacks.collect = [this](server::Command header, auto done) {
    executor_.Post([this, header = std::move(header), done = std::move(done)] {
      // The application may take its time; the lease is renewed on this thread.
      pools_.Run(server::Lane::kCollectLoad, [done, held = engine_.Look(header)] { done(held); });
    });
  };
  callbacks.reshape = [this](server::Command header, Reshape reshape, auto done) {
    executor_.Post(
        [this, header = std::move(header), reshape = std::move(reshape), done = std::move(done)] {
          const absl::Status may = engine_.Look(header).status();
          pools_.Run(server::Lane::kCollectLoad, [this, may, reshape, done] {
            done(may.ok() ? server::Contained("PrepareReshape",
                                              [&] { return handler_->PrepareReshape(reshape); })
                          : may);
          });
        });
  };
  callbacks.load = [this](const ShardId& shard) {
    return LoadOf(engine_.gates(), *handler_, shard);
  };
  callbacks.requests = [this](const ShardId& shard) { return requests_.Take(shard.value()); };
  callbacks.traffic = [this](v1::CollectLoadResponse& response) {
    traffic_.Tell(MonotonicNow(), response);
  };
  callbacks.capacity = [this] {
    return FiguresOf("CollectCapacity", [this] { return handler_->CollectCapacity(); });
  };
  return callbacks;
}

// ---- stop ----

void ServerImpl::RequestStop() {
  {
    std::lock_guard lock(mutex_);
    stop_requested_ = true;
  }
  changed_.notify_all();
}

void ServerImpl::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_requested_; });
}

// Refuse new work; let the shards go; see clients off; close the doors; say good-bye.
void ServerImpl::Shutdown() {
  std::call_once(shutdown_once_, [this] {
    {
      std::lock_guard lock(mutex_);
      life_ = Life::kOver;
    }
    RequestStop();
    if (linked_) {
      server::Contained("Stopping", [this] {
        handler_->Stopping();
        return absl::OkStatus();
      }).IgnoreError();
      engine_.Stop();
      AwaitEmptied(options_.drain_timeout);
      AwaitClients();
    }
    // Before the good-bye, which lets others serve our shards at once: cancels and
    // waits for every method of the application that still runs.
    if (grpc_.server != nullptr) {
      grpc_.server->Shutdown(std::chrono::system_clock::now() + kGrpcPatience);
    }
    callbacks_.Finish();
    forwarding_.Finish();
    if (linked_) Leave();
    pools_.Stop();
  });
}

void ServerImpl::Leave() {
  bool good_bye = AwaitEmptied(kGrpcPatience);
  // A shard that still loads cannot be hurried, and serves nobody.
  if (!good_bye) executor_.RunThere([&] { good_bye = !engine_.book().in_use(); });
  if (!good_bye) LogWarning("some shards are still in use; leaving without good-bye");
  engine_.Leave(good_bye);
  if (environment_.leaving) environment_.leaving();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return gone_; });
  }
  executor_.RunThere([this] { engine_.Close(); });
}

// Those whose last shards went elsewhere just now: a request that gRPC meets while it shuts
// down is cancelled, and its client cannot know whether it was processed.
void ServerImpl::AwaitClients() {
  std::unique_lock lock(mutex_);
  const TimePoint until = engine_.let_go_at() + environment_.clients_lag;
  changed_.wait_for(lock, until - environment_.now(), [] { return false; });
}

bool ServerImpl::AwaitEmptied(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return emptied_; });
}

// ---- admission ----

ServerImpl::Admitted ServerImpl::Ask(const grpc::ServerContextBase& context, Duration patience) {
  server::Addressed request = read_request_(context);
  if (request.refusal != nullptr) return {.refusal = request.refusal};
  if (request.forwarder &&
      !others_.Contains(context, std::string(request.forwarder->server)).ok()) {
    request.forwarder.reset();  // whoever says that is a client like any other
  }
  const server::Forwarder* by = request.forwarder ? &*request.forwarder : nullptr;
  return Ask({request.shard, by, request.for_primary}, patience);
}

Duration ServerImpl::PatienceOf(const grpc::ServerContextBase& context) const {
  return std::min<Duration>(options_.hold_timeout, Left(context));
}

ServerImpl::Admitted ServerImpl::Ask(const Asked& asked, Duration patience) {
  const auto admit = [&] { return engine_.gates().Admit(asked); };
  auto admitted = admit();
  if (admitted.held_at == nullptr || patience <= Duration(0)) return admitted;
  const TimePoint until = MonotonicNow() + patience;
  if (admitted.lapsed_at) engine_.gates().lease_meter().Held();
  while (admitted.held_at != nullptr &&
         engine_.gates().queue().AwaitTurn(admitted, HeldUntil(admitted, until))) {
    admitted = admit();
  }
  return admitted;
}

// A lease that has not been renewed for as long as a request may be held will hardly be renewed
// for the next one: from then on requests are refused at once.
TimePoint ServerImpl::HeldUntil(const Admitted& held, TimePoint until) const {
  if (!held.lapsed_at) return until;
  if (!environment_.holds_lapsed) return MonotonicNow();
  return std::min<TimePoint>(until, *held.lapsed_at + options_.hold_timeout);
}

// Few requests name their region or their key.
void ServerImpl::CountMarked(const grpc::ServerContextBase& context, const ShardId& shard) {
  const std::string_view region = server::Header(context, request_metadata::kRegion);
  if (!region.empty()) requests_.Count(shard.value(), region);
  const std::string_view key = server::Header(context, request_metadata::kKey);
  if (!key.empty()) traffic_.Count(key, shard.value());
}

std::string ServerImpl::MetricsText() {
  const TimePoint now = environment_.now();
  const TimePoint until = std::max(engine_.gates().lease_until(), now);  // min() would overflow
  return engine_.gates().lease_meter().Text(until - now);
}

Admission ServerImpl::Answer(grpc::ServerContextBase& context, const Admitted& admitted,
                             EndedBy ended_by) {
  if (admitted.slot == nullptr) {
    context.AddTrailingMetadata(request_metadata::kRefused, admitted.refusal);
  } else {
    CountMarked(context, admitted.slot->shard());
    if (ended_by == EndedBy::kApplication) server::SayAdmitted(context, /*maybe_error=*/true);
  }
  Admission admission = ToAdmission(admitted);
  if (hooks_.any()) admission.watched_ = hooks_.Answered(context, admission);
  return admission;
}

Admission ServerImpl::ToAdmission(const Admitted& admitted) {
  if (admitted.slot != nullptr) {
    Admission admission(admitted.slot, admitted.epoch, admitted.role);
    if (admitted.slot->counts().Admitted()) {
      admission.timed_from_us_ = MonotonicNow().time_since_epoch().count();
    }
    return admission;
  }
  const bool lapsed = std::string_view(admitted.refusal) == request_metadata::kLeaseLapsed;
  if (lapsed) engine_.gates().lease_meter().Refused();
  return Admission(admitted.refusal);
}

Admission ServerImpl::Admit(grpc::ServerContext& context) {
  return Answer(context, Ask(context, PatienceOf(context)));
}

Admission ServerImpl::AdmitOrForward(grpc::ServerContext& context,
                                     sdk_internal::StubFactory make_stub,
                                     server_internal::Onward onward) {
  const Admitted admitted = Ask(context, PatienceOf(context));
  if (admitted.forward_to != nullptr) {
    if (auto answer = Forward(context, *admitted.forward_to, make_stub, onward)) {
      hooks_.Forwarded();
      return Admission(*answer);
    }
  }
  return Answer(context, admitted);
}

// Nothing: the new owner cannot be reached; nothing was sent.
std::optional<grpc::Status> ServerImpl::Forward(grpc::ServerContext& context,
                                                const server::Successor& to,
                                                sdk_internal::StubFactory make_stub,
                                                server_internal::Onward onward) {
  const auto channel = forwarding_.Reach(to, MonotonicNow() + PatienceOf(context));
  if (channel == nullptr) return std::nullopt;
  const auto call = forwarding_.Onward(context, to);
  const grpc::Status status = onward(channel->Stub(make_stub).get(), *call, [&] {
    server::Forwarding::PassInitialMetadata(*call, context);
  });
  server::Forwarding::PassTrailingMetadata(*call, context);
  return status;
}

Admission ServerImpl::Admit(const ShardId& shard, Duration patience) {
  return ToAdmission(Ask({.shard = shard.value(), .own_work = true}, patience));
}

// ---- what the engine asks ----

server::Engine::Ports ServerImpl::EnginePorts() {
  return {.call =
              [this](const server::HandlerCall& call) {
                pools_.Run(server::LaneOf(call), [this, call] {
                  engine_.Done(server::DoneOf(call, server::Contained(MethodName(call.method), [&] {
                                                return CallHandler(call);
                                              })));
                });
              },
          .reply = [this](const server::Reply& reply) { service_.Send(reply); },
          .refuse = [this](const server::Refuse& refuse) { service_.Send(refuse); },
          .joined = [this](const absl::Status& status) { OnJoined(status); },
          .emptied = [this] { Note(emptied_); },
          .gone = [this] { Note(gone_); }};
}

absl::Status ServerImpl::CallHandler(const server::HandlerCall& call) {
  const server::Grant& grant = call.grant;
  switch (call.method) {
    case CommandKind::kPrepareAdd:
      return handler_->PrepareAddShard(ToHandler(grant));
    case CommandKind::kAdd: {
      absl::Status status = handler_->AddShard(
          ToHandler(grant), [this, grant](double fraction) { engine_.Report(grant, fraction); });
      if (!status.ok()) {
        LogWarning("AddShard {} failed: {}", grant.shard.value(), status.ToString());
      }
      return status;
    }
    case CommandKind::kChangeRole:
      return handler_->ChangeRole(ToHandler(grant));
    case CommandKind::kSetMembers:
      return handler_->UpdateMembership(grant.shard, grant.members.value_or(Members{}));
    case CommandKind::kPrepareDrop:
      return handler_->PrepareDropShard(grant.shard);
    case CommandKind::kDrop:
      return handler_->DropShard(grant.shard);
  }
  return absl::InternalError("no such method");
}

void ServerImpl::OnJoined(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  if (!started_) started_ = status;
  if (!status.ok()) stop_requested_ = true;
  changed_.notify_all();
}

void ServerImpl::Note(bool& flag) {
  std::lock_guard lock(mutex_);
  flag = true;
  changed_.notify_all();
}

}  // namespace shardmanager
