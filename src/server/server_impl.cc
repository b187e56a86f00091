#include "server/server_impl.h"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "model/request_metadata.h"

namespace shardmanager {
namespace {

using server::Membership;
using server::ShardBook;

// Longest that Shutdown waits for the application's gRPC calls after its shards are
// gone; later ones are cancelled.
constexpr std::chrono::seconds kGrpcPatience{1};

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= 127 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

std::unique_ptr<CoordinationStoreFactory> OrZookeeper(
    std::unique_ptr<CoordinationStoreFactory> stores, const std::string& zookeeper) {
  if (stores != nullptr) return stores;
  return std::make_unique<ZookeeperStoreFactory>(zookeeper);
}

}  // namespace

ServerImpl::ServerImpl(ServerOptions options, std::unique_ptr<CoordinationStoreFactory> stores)
    : options_(std::move(options)),
      stores_(OrZookeeper(std::move(stores), options_.zookeeper)),
      table_([this](const ShardId& shard) {
        // A report may be late: the shard may serve again by now. Only this thread opens.
        executor_.Post([this, shard] {
          if (table_.Idle(shard)) book_.Handle(server::Drained{shard});
        });
      }),
      service_(ServiceCallbacks()),
      pool_(options_.command_threads),
      book_(executor_,
            ShardBook({options_.app, options_.name,
                       std::chrono::duration_cast<Duration>(options_.drain_timeout)}),
            [this](auto& action) { std::visit([this](auto& a) { Do(a); }, action); }),
      membership_(executor_, Membership(options_.app),
                  [this](auto& action) { std::visit([this](auto& a) { Do(a); }, action); }) {}

ServerImpl::~ServerImpl() {
  Shutdown();
  executor_.Stop();
}

// ---- start ----

absl::Status ServerImpl::CheckOptions() const {
  const std::pair<const char*, const std::string*> names[] = {
      {"app", &options_.app}, {"name", &options_.name}, {"cell", &options_.cell}};
  for (const auto& [field, value] : names) {
    if (IsName(*value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("ServerOptions.", field, ": found \"", *value,
                     "\"; allowed: 1 to 127 characters of [A-Za-z0-9._-]"));
  }
  if (options_.listen.rfind(':') == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("ServerOptions.listen: found \"",
                                                   options_.listen, "\"; allowed: \"host:port\""));
  }
  return absl::OkStatus();
}

std::string ServerImpl::AdvertisedHost() const {
  if (!options_.advertise_host.empty()) return options_.advertise_host;
  const std::string host = options_.listen.substr(0, options_.listen.rfind(':'));
  if (host != "0.0.0.0" && host != "[::]" && !host.empty()) return host;
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return name;
}

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
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.RegisterService(service_.service());
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr || port == 0) {
    grpc_.reset();
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options_.listen,
                     ": is the port taken, or not an address of this machine?"));
  }
  endpoint_ = absl::StrCat(AdvertisedHost(), ":", port);
  return absl::OkStatus();
}

absl::Status ServerImpl::Start(ShardHandler& handler, const std::vector<grpc::Service*>& services) {
  if (absl::Status status = CheckOptions(); !status.ok()) return status;
  handler_ = &handler;
  if (absl::Status status = Listen(services); !status.ok()) return status;
  StartLink();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_ || stop_requested_; });
  return started_ ? *started_ : absl::CancelledError("stopped before it could register");
}

void ServerImpl::StartLink() {
  server::CellLink::Callbacks callbacks;
  callbacks.event = [this](Membership::Event event) { membership_.Post(std::move(event)); };
  callbacks.assigned = [this](std::vector<server::Grant> grants) {
    book_.Post(server::Assigned{std::move(grants)});
  };
  link_ = std::make_unique<server::CellLink>(
      options_, endpoint_, *stores_, [this](auto task) { executor_.Post(std::move(task)); },
      std::move(callbacks));
  executor_.Post([this] { link_->NewSession(); });
}

server::ShardServerService::Callbacks ServerImpl::ServiceCallbacks() {
  server::ShardServerService::Callbacks callbacks;
  callbacks.command = [this](server::Command command) { book_.Post(std::move(command)); };
  callbacks.collect = [this](server::Command header, auto done) {
    executor_.Post(
        [this, header = std::move(header), done = std::move(done)] { Collect(header, done); });
  };
  callbacks.load = [this](const ShardId& shard) { return LoadOf(shard); };
  return callbacks;
}

// Held while it is asked, so that no AddShard or DropShard of it runs meanwhile.
std::map<std::string, double> ServerImpl::LoadOf(const ShardId& shard) {
  server::AdmissionSlot* slot = table_.Hold(shard.value());
  if (slot == nullptr) return {};
  std::map<std::string, double> load = handler_->CollectLoad(shard);
  slot->Release();
  return load;
}

void ServerImpl::Collect(
    const server::Command& header,
    const std::function<void(absl::StatusOr<server::ShardServerService::Held>)>& done) {
  if (header.server != options_.name || header.app != options_.app ||
      header.incarnation != incarnation_) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("this is life ", incarnation_.value(), " of \"", options_.name, "\"")));
  }
  const TimePoint now = MonotonicNow();
  const TimePoint until = std::max(table_.lease_until(), now);  // min() - now would overflow
  server::ShardServerService::Held held{book_.core().held(), until - now};
  // The application may take its time; the lease is renewed on this thread.
  looks_.Run([done, held = std::move(held)] { done(held); });
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

// Refuse new work; let the shards go; close the doors; say good-bye.
void ServerImpl::Shutdown() {
  std::call_once(shutdown_once_, [this] {
    RequestStop();
    if (link_ != nullptr) {
      table_.StopAdmitting();
      book_.Post(server::Stop{});
      AwaitEmptied(options_.drain_timeout);
      // Before the good-bye, which lets others serve our shards at once: cancels and
      // waits for every method of the application that still runs.
      if (grpc_ != nullptr) grpc_->Shutdown(std::chrono::system_clock::now() + kGrpcPatience);
      Leave();
    }
    pool_.Stop();
    looks_.Stop();
  });
}

void ServerImpl::Leave() {
  bool good_bye = AwaitEmptied(kGrpcPatience);
  // A shard that still loads cannot be hurried, and serves nobody.
  if (!good_bye) RunThere([&] { good_bye = !book_.core().in_use(); });
  if (!good_bye) spdlog::warn("some shards are still in use; leaving without good-bye");
  membership_.Post(server::Leave{good_bye});
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return gone_; });
  }
  RunThere([this] { link_->Close(); });
}

bool ServerImpl::AwaitEmptied(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return emptied_; });
}

void ServerImpl::RunThere(const std::function<void()>& task) {
  std::promise<void> done;
  executor_.Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

// ---- admission ----

Admission ServerImpl::Admit(grpc::ServerContext& context) {
  namespace meta = request_metadata;
  const auto& metadata = context.client_metadata();
  const auto find = [&](const char* key) {
    auto it = metadata.find(key);
    return it == metadata.end() ? std::string_view()
                                : std::string_view(it->second.data(), it->second.size());
  };
  const std::string_view app = find(meta::kApp);
  const std::string_view server = find(meta::kServer);
  const std::string_view shard = find(meta::kShard);
  const bool wrong =
      (!app.empty() && app != options_.app) || (!server.empty() && server != options_.name);
  server::AdmissionTable::Admitted admitted{.refusal = wrong ? meta::kWrongServer : meta::kNoShard};
  if (!wrong && !shard.empty()) admitted = table_.Admit(shard);
  if (admitted.slot != nullptr) {
    context.AddTrailingMetadata(meta::kAdmitted, "1");
    return Admission(admitted.slot, admitted.epoch, admitted.role);
  }
  context.AddTrailingMetadata(meta::kRefused, admitted.refusal);
  return Admission(admitted.refusal);
}

Admission ServerImpl::Admit(const ShardId& shard) {
  const server::AdmissionTable::Admitted admitted = table_.Admit(shard.value());
  if (admitted.slot != nullptr) return Admission(admitted.slot, admitted.epoch, admitted.role);
  return Admission(admitted.refusal);
}

// ---- carrying out ----

void ServerImpl::Do(server::RunAdd& action) {
  pool_.Run([this, grant = action.grant] {
    const LoadProgress progress = [this, grant](double fraction) {
      book_.Post(server::Progress{grant.shard, grant.epoch, std::clamp(fraction, 0.0, 1.0)});
    };
    absl::Status status = handler_->AddShard({grant.shard, grant.role, grant.epoch}, progress);
    if (!status.ok()) {
      spdlog::warn("AddShard {} failed: {}", grant.shard.value(), status.ToString());
    }
    book_.Post(server::Loaded{grant.shard, grant.epoch, std::move(status)});
  });
}

void ServerImpl::Do(server::RunDrop& action) {
  pool_.Run([this, shard = action.shard] {
    book_.Post(server::Dropped{shard, handler_->DropShard(shard)});
  });
}

void ServerImpl::Do(server::OpenShard& action) {
  table_.Open(action.grant.shard, action.grant.role, action.grant.epoch);
  spdlog::debug("serving {} as {}, epoch {}", action.grant.shard.value(),
                ToString(action.grant.role), action.grant.epoch.value());
}

void ServerImpl::Do(server::Warn& action) { spdlog::warn("{}", action.text); }

void ServerImpl::Do(server::Emptied&) {
  std::lock_guard lock(mutex_);
  emptied_ = true;
  changed_.notify_all();
}

void ServerImpl::Do(server::SetLease& action) { table_.SetLease(action.until); }

void ServerImpl::Do(server::BecameMember& action) {
  incarnation_ = action.incarnation;
  spdlog::info("server {} of app {}: registered as life {} at {}", options_.name, options_.app,
               incarnation_.value(), endpoint_);
  book_.Post(server::Registered{incarnation_});
  std::lock_guard lock(mutex_);
  if (!started_) started_ = absl::OkStatus();
  changed_.notify_all();
}

void ServerImpl::Do(server::NewSession&) { link_->NewSession(); }

void ServerImpl::Do(server::GiveUp& action) {
  spdlog::error("server {} of app {} cannot join: {}", options_.name, options_.app,
                action.why.ToString());
  std::lock_guard lock(mutex_);
  if (!started_) started_ = action.why;
  stop_requested_ = true;
  changed_.notify_all();
}

void ServerImpl::Do(server::Waiting& action) {
  if (action.why.empty()) {
    spdlog::info("server {} of app {}: a member of the cell", options_.name, options_.app);
  } else {
    spdlog::warn("server {} of app {}: {}", options_.name, options_.app, action.why);
  }
}

void ServerImpl::Do(server::Gone&) {
  std::lock_guard lock(mutex_);
  gone_ = true;
  changed_.notify_all();
}

}  // namespace shardmanager
