// The shell of the server library: gRPC and threads around an Engine.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/executor.h"
#include "server/engine.h"
#include "server/environment.h"
#include "server/forwarding.h"
#include "server/handler_pool.h"
#include "server/held/callback_admission.h"
#include "server/request_reader.h"
#include "server/shard_server_service.h"
#include "server/shards/request_regions.h"
#include "server/traffic/request_watch.h"
#include "server/traffic/traffic_report.h"
#include "shardmanager/server.h"
#include "wire/app_servers.h"
#include "wire/transport.h"

namespace shardmanager {

class ServerImpl {
 public:
  ServerImpl(ServerOptions options, server::Environment environment);
  ~ServerImpl();

  absl::Status Start(ShardHandler& handler, const std::vector<grpc::Service*>& services);
  // Makes a Start() that waits return CANCELLED, and Wait() return.
  void RequestStop();
  void Wait();
  void Shutdown();
  Admission Admit(grpc::ServerContext& context);
  Admission AdmitOrForward(grpc::ServerContext& context, sdk_internal::StubFactory make_stub,
                           server_internal::Onward onward);
  Admission Admit(const ShardId& shard, Duration patience);
  // The same for services of the callback API.
  server::CallbackAdmission& callbacks() { return callbacks_; }
  const std::string& endpoint() const { return endpoint_; }
  const wire::AppServers& others() const { return others_; }
  std::string MetricsText();

  // ---- the steps of admission
  using Admitted = server::AdmissionTable::Admitted;
  using Asked = server::AdmissionTable::Request;
  // As the request's metadata say.
  Admitted Ask(const grpc::ServerContextBase& context, Duration patience);
  // May wait so long while the shard is handed over, or the lease has lapsed.
  Admitted Ask(const Asked& asked, Duration patience);
  // How long a call may be held.
  Duration PatienceOf(const grpc::ServerContextBase& context) const;
  TimePoint HeldUntil(const Admitted& held, TimePoint until) const;
  // Tells the router, too. What the library ends it tells in the end
  // (server_internal::SayAdmitted).
  using EndedBy = server_internal::EndedBy;
  Admission Answer(grpc::ServerContextBase& context, const Admitted& admitted,
                   EndedBy ended_by = EndedBy::kApplication);
  Admission ToAdmission(const Admitted& admitted);

 private:
  enum class Life : uint8_t { kNew, kBegun, kOver };

  // FAILED_PRECONDITION: it is not new.
  absl::Status BeginLife();
  // All of Start() that may fail and be tried again.
  absl::Status Prepare(ShardHandler& handler, const std::vector<grpc::Service*>& services);
  absl::Status Listen(const std::vector<grpc::Service*>& services);
  server::ShardServerService::Callbacks ServiceCallbacks();
  void CountMarked(const grpc::ServerContextBase& context, const ShardId& shard);
  std::optional<grpc::Status> Forward(grpc::ServerContext& context, const server::Successor& to,
                                      sdk_internal::StubFactory make_stub,
                                      server_internal::Onward onward);
  server::Engine::Ports EnginePorts();
  // On a thread of the call's lane.
  absl::Status CallHandler(const server::HandlerCall& call);
  void OnJoined(const absl::Status& status);
  // Sets the flag, under the mutex, and wakes whoever waits for it.
  void Note(bool& flag);
  // Waits. True: no shard is held any more.
  bool AwaitEmptied(std::chrono::milliseconds patience);
  void AwaitClients();
  void Leave();

  const ServerOptions options_;
  server::Environment environment_;
  const server::RequestReader read_request_;
  server::ShardServerService service_;
  ShardHandler* handler_ = nullptr;
  std::unique_ptr<ShardHandler> around_handler_;  // of the environment; may be null
  wire::ServerAndPort grpc_;
  std::string endpoint_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::Status> started_;  // once Start() has its answer
  Life life_ = Life::kNew;
  bool stop_requested_ = false;
  bool emptied_ = false;
  bool gone_ = false;
  std::once_flag shutdown_once_;

  const wire::AppServers others_;
  server::Forwarding forwarding_;
  server::HandlerPools pools_;
  bool linked_ = false;
  Executor& executor_;  // the environment's
  server::RequestRegions requests_;
  server::Engine engine_;
  server::TrafficReport traffic_;
  const server_internal::RequestHooks hooks_;
  server::CallbackAdmission callbacks_;
};

}  // namespace shardmanager
