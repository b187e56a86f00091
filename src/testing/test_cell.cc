// The public face (include/shardmanager/testing.h).
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "model/request_metadata.h"
#include "server/environment.h"
#include "shardmanager/testing.h"
#include "testing/commands.h"
#include "testing/handler_probe.h"
#include "testing/memory_cell.h"
#include "testing/script.h"
#include "testing/virtual_loop.h"

namespace shardmanager {

using testing_internal::HandlerFaults;
using testing_internal::HandlerProbe;
using testing_internal::HeldCallState;
using testing_internal::MemoryCell;
using testing_internal::VirtualLoop;

namespace {

const std::string kCell = "test";

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= 127 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

absl::Status CheckName(const char* what, const std::string& name) {
  if (IsName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": found \"", name, "\"; allowed: 1 to 127 characters of [A-Za-z0-9._-]"));
}

v1::OnPartition OnPartitionOf(const TestCellOptions& options) {
  SM_CHECK(!options.stop_all || !options.keep_serving,
           "TestCellOptions.keep_serving: allowed: false, with stop_all");
  if (options.stop_all) return v1::STOP_ALL;
  return options.keep_serving ? v1::KEEP_SERVING : v1::STOP_PRIMARIES;
}

}  // namespace

class TestCell::Impl {
 public:
  explicit Impl(TestCellOptions options)
      : options_(std::move(options)),
        loop_(VirtualLoop::Shared()),
        memory_(std::make_shared<MemoryCell>(loop_, kCell, AppName(options_.app),
                                             options_.session_timeout, OnPartitionOf(options_))),
        commands_(options_.app, options_.patience),
        script_(*memory_, commands_) {
    SM_CHECK(options_.session_timeout >= std::chrono::seconds(1) &&
                 options_.session_timeout <= std::chrono::seconds(60),
             "TestCellOptions.session_timeout: allowed: 1,000 to 60,000 ms");
    static std::atomic<int> cells{0};
    connect_string_ = absl::StrCat(std::string(server::kTestPrefix), ++cells);
    server::PutEnvironment(connect_string_,
                           [this](const ServerOptions& o) { return EnvironmentOf(o); });
  }

  ~Impl() {
    server::RemoveEnvironment(connect_string_);
    for (const auto& [server, faults] : faults_) faults->ReleaseAll();
  }

  ServerOptions Options(const std::string& server) const {
    ServerOptions options;
    options.app = options_.app;
    options.name = server;
    options.zookeeper = connect_string_;
    options.cell = kCell;
    options.listen = "127.0.0.1:0";
    return options;
  }

  // Checks the names, orders, and lets the servers come to rest.
  template <typename Order>
  absl::Status Do(const std::string& shard, const std::string& server, Order order) {
    for (const auto& [what, name] : {std::pair("shard", &shard), std::pair("server", &server)}) {
      if (absl::Status s = CheckName(what, *name); !s.ok()) return s;
    }
    absl::Status status = order(ShardId(shard), ServerName(server));
    Advance(Duration(0));
    return status;
  }

  void Advance(Duration time) { loop_->Advance(time); }

  absl::Status CutOff(const std::string& server, Duration then) {
    if (absl::Status s = CheckName("server", server); !s.ok()) return s;
    if (const auto live = script_.Live(ServerName(server)); !live.ok()) return live.status();
    memory_->CutOff(ServerName(server));
    Advance(then);
    return absl::OkStatus();
  }

  absl::Status Reconnect(const std::string& server) {
    if (absl::Status s = CheckName("server", server); !s.ok()) return s;
    memory_->Reconnect(ServerName(server));
    if (absl::Status s = AwaitLease(ServerName(server)); !s.ok()) return s;
    absl::Status status = script_.RepeatAll(ServerName(server));
    Advance(Duration(0));
    return status;
  }

  absl::Status LoadOf(const std::string& shard, const ServerName& server,
                      std::map<std::string, double>& load) {
    const auto live = script_.Live(server);
    if (!live.ok()) return live.status();
    const auto report = commands_.Collect(*live);
    if (!report.ok()) return report.status();
    for (const v1::HeldShard& held : report->shards()) {
      if (held.shard() != shard) continue;
      load = {held.load().begin(), held.load().end()};
      return absl::OkStatus();
    }
    return absl::NotFoundError(absl::StrCat("shard ", shard, " is not held by ", server.value()));
  }

  absl::StatusOr<std::map<std::string, double>> CapacityOf(const std::string& server) {
    if (absl::Status s = CheckName("server", server); !s.ok()) return s;
    const auto live = script_.Live(ServerName(server));
    if (!live.ok()) return live.status();
    const auto report = commands_.Collect(*live);
    if (!report.ok()) return report.status();
    return std::map<std::string, double>(report->capacity().begin(), report->capacity().end());
  }

  std::shared_ptr<HandlerFaults> FaultsOf(const std::string& server) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<HandlerFaults>& faults = faults_[server];
    if (faults == nullptr) faults = std::make_shared<HandlerFaults>();
    return faults;
  }

  // Where it listens; of a server that was live once, too.
  std::string EndpointOf(const std::string& server) {
    const auto life = memory_->LifeOf(ServerName(server));
    std::lock_guard lock(mutex_);
    std::string& endpoint = endpoints_[server];
    if (life) endpoint = life->endpoint;
    return endpoint.empty() ? "127.0.0.1:1" : endpoint;
  }

  const TestCellOptions& options() const { return options_; }
  testing_internal::Script& script() { return script_; }
  testing_internal::Commands& commands() { return commands_; }

 private:
  server::Environment EnvironmentOf(const ServerOptions& options) {
    const ServerName name(options.name);
    auto faults = FaultsOf(options.name);
    server::Environment environment;
    environment.stores = MemoryCell::FactoryFor(memory_, name);
    environment.executor = loop_->NewExecutor();
    environment.now = VirtualLoop::Now;
    environment.around = [faults](ShardHandler& handler) {
      return std::make_unique<HandlerProbe>(handler, faults);
    };
    // So that nobody waits for a clock that stands still.
    environment.leaving = [memory = memory_, loop = loop_, timeout = options_.session_timeout,
                           faults, name] {
      faults->ReleaseAll();
      memory->Reconnect(name);
      if (memory->LifeOf(name)) loop->Advance(timeout);
    };
    return environment;
  }

  // It is renewed each tick; a new life looks again each 200 ms until it is a member.
  absl::Status AwaitLease(const ServerName& server) {
    absl::Status why;
    for (Duration waited{}; waited < options_.session_timeout; waited += MemoryCell::kTick) {
      Advance(MemoryCell::kTick);
      const auto live = script_.Live(server);
      if (!live.ok()) {
        why = live.status();
        continue;
      }
      const auto report = commands_.Collect(*live);
      why = report.status();
      if (report.ok() && report->lease_remaining_ms() > 0) return absl::OkStatus();
    }
    return why.ok() ? absl::DeadlineExceededError(
                          absl::StrCat(server.value(), " has no lease after a session time-out"))
                    : why;
  }

  const TestCellOptions options_;
  const std::shared_ptr<VirtualLoop> loop_;
  const std::shared_ptr<MemoryCell> memory_;
  testing_internal::Commands commands_;
  testing_internal::Script script_;
  std::string connect_string_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<HandlerFaults>> faults_;  // by server
  std::map<std::string, std::string> endpoints_;                  // by server
};

TestCell::TestCell(TestCellOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
TestCell::~TestCell() = default;

ServerOptions TestCell::Options(const std::string& server) const { return impl_->Options(server); }

// ---- the control plane ----

absl::Status TestCell::Assign(const std::string& shard, const std::string& server, Role role) {
  return impl_->Do(shard, server, [&](const ShardId& s, const ServerName& at) {
    return impl_->script().Assign(s, at, role);
  });
}

absl::Status TestCell::Regrant(const std::string& shard, const std::string& server) {
  return impl_->Do(shard, server, [&](const ShardId& s, const ServerName& at) {
    return impl_->script().Regrant(s, at);
  });
}

absl::Status TestCell::Move(const std::string& shard, const std::string& to) {
  return impl_->Do(shard, to, [&](const ShardId& s, const ServerName& at) {
    return impl_->script().Move(s, at);
  });
}

absl::Status TestCell::Promote(const std::string& shard, const std::string& server) {
  return impl_->Do(shard, server, [&](const ShardId& s, const ServerName& at) {
    return impl_->script().Promote(s, at);
  });
}

absl::Status TestCell::Demote(const std::string& shard, const std::string& server) {
  return impl_->Do(shard, server, [&](const ShardId& s, const ServerName& at) {
    return impl_->script().Demote(s, at);
  });
}

absl::Status TestCell::SetMembers(const std::string& shard,
                                  const std::vector<std::string>& servers) {
  std::vector<ServerName> names;
  for (const std::string& server : servers) {
    if (absl::Status s = CheckName("server", server); !s.ok()) return s;
    names.emplace_back(server);
  }
  if (absl::Status s = CheckName("shard", shard); !s.ok()) return s;
  absl::Status status = impl_->script().SetMembers(ShardId(shard), names);
  impl_->Advance(Duration(0));
  return status;
}

absl::Status TestCell::Drop(const std::string& shard, const std::string& server) {
  return impl_->Do(shard, server, [&](const ShardId& s, const ServerName& at) {
    return impl_->script().Drop(s, at);
  });
}

absl::StatusOr<std::map<std::string, double>> TestCell::Load(const std::string& shard,
                                                             const std::string& server) {
  std::map<std::string, double> load;
  absl::Status status = impl_->Do(shard, server, [&](const ShardId&, const ServerName& at) {
    return impl_->LoadOf(shard, at, load);
  });
  if (!status.ok()) return status;
  return load;
}

absl::StatusOr<std::map<std::string, double>> TestCell::Capacity(const std::string& server) {
  return impl_->CapacityOf(server);
}

// ---- the clock, and faults ----

void TestCell::Advance(std::chrono::milliseconds time) { impl_->Advance(time); }

absl::Status TestCell::CutOff(const std::string& server) {
  return impl_->CutOff(server, Duration(0));
}

// A lease is two ticks shorter than the session, at least.
absl::Status TestCell::LapseLease(const std::string& server) {
  return impl_->CutOff(server, impl_->options().session_timeout - MemoryCell::kTick);
}

absl::Status TestCell::ExpireSession(const std::string& server) {
  return impl_->CutOff(server, impl_->options().session_timeout);
}

absl::Status TestCell::Reconnect(const std::string& server) { return impl_->Reconnect(server); }

void TestCell::FailNext(const std::string& server, HandlerMethod method, absl::Status error) {
  impl_->FaultsOf(server)->FailNext(method, std::move(error));
}

HeldCall TestCell::Hold(const std::string& server, HandlerMethod method) {
  auto held = std::make_shared<HeldCallState>(impl_->options().patience);
  impl_->FaultsOf(server)->Hold(method, held);
  return HeldCall(std::move(held));
}

std::vector<std::string> TestCell::Calls(const std::string& server) const {
  return impl_->FaultsOf(server)->calls();
}

// ---- requests ----

void TestCell::Address(const std::string& server, const std::string& shard,
                       grpc::ClientContext* context, bool any_replica) const {
  namespace meta = request_metadata;
  context->AddMetadata(meta::kApp, impl_->options().app);
  context->AddMetadata(meta::kServer, server);
  context->AddMetadata(meta::kShard, shard);
  if (!any_replica && impl_->script().HasBothRoles(ShardId(shard))) {
    context->AddMetadata(meta::kRole, meta::kPrimary);
  }
  context->set_deadline(std::chrono::system_clock::now() + impl_->options().patience);
}

std::shared_ptr<grpc::Channel> TestCell::Channel(const std::string& server) const {
  return impl_->commands().Channel(impl_->EndpointOf(server));
}

}  // namespace shardmanager
