// The shell of the server library: gRPC, threads, the store, and the two cores.
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "coordination/store.h"
#include "runtime/core_driver.h"
#include "runtime/serial_executor.h"
#include "server/admission_table.h"
#include "server/cell_link.h"
#include "server/handler_pool.h"
#include "server/membership.h"
#include "server/shard_book.h"
#include "server/shard_server_service.h"
#include "shardmanager/server.h"

namespace grpc {
class Server;
}  // namespace grpc

namespace shardmanager {

class ServerImpl {
 public:
  // `stores`: null: ZooKeeper at options.zookeeper. Tests give others.
  ServerImpl(ServerOptions options, std::unique_ptr<CoordinationStoreFactory> stores);
  ~ServerImpl();

  absl::Status Start(ShardHandler& handler, const std::vector<grpc::Service*>& services);
  // Makes a Start() that waits return CANCELLED, and Wait() return.
  void RequestStop();
  void Wait();
  void Shutdown();
  Admission Admit(grpc::ServerContext& context);
  Admission Admit(const ShardId& shard);
  const std::string& endpoint() const { return endpoint_; }

 private:
  absl::Status CheckOptions() const;
  absl::Status Listen(const std::vector<grpc::Service*>& services);
  std::string AdvertisedHost() const;
  server::ShardServerService::Callbacks ServiceCallbacks();
  std::map<std::string, double> LoadOf(const ShardId& shard);
  // Waits. True: no shard is held any more.
  bool AwaitEmptied(std::chrono::milliseconds patience);
  void Leave();
  // Runs it on the executor's thread and waits for it.
  void RunThere(const std::function<void()>& task);
  void Collect(const server::Command& header,
               const std::function<void(absl::StatusOr<server::ShardServerService::Held>)>& done);
  void StartLink();

  // Carrying out, on the executor's thread.
  void Do(server::RunAdd& action);
  void Do(server::RunDrop& action);
  void Do(server::OpenShard& action);
  void Do(server::ShowLoading& action) { table_.ShowLoading(action.shard); }
  void Do(server::CloseShard& action) { table_.Close(action.shard); }
  void Do(server::Reply& action) { service_.Send(action); }
  void Do(server::Refuse& action) { service_.Send(action); }
  void Do(server::Warn& action);
  void Do(server::Emptied& action);
  void Do(server::SetLease& action);
  void Do(server::SetPolicy& action) { table_.SetStopAll(action.stop_all); }
  void Do(server::BecameMember& action);
  void Do(server::NewSession& action);
  void Do(server::GiveUp& action);
  void Do(server::Waiting& action);
  void Do(server::Gone& action);
  // What the store is asked: see CellLink.
  template <typename Ask>
  void Do(Ask& action) {
    link_->Do(action);
  }

  const ServerOptions options_;
  const std::unique_ptr<CoordinationStoreFactory> stores_;
  server::AdmissionTable table_;
  server::ShardServerService service_;
  ShardHandler* handler_ = nullptr;
  std::unique_ptr<grpc::Server> grpc_;
  std::string endpoint_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::Status> started_;  // once Start() has its answer
  bool stop_requested_ = false;
  bool emptied_ = false;
  bool gone_ = false;
  std::once_flag shutdown_once_;
  Incarnation incarnation_;

  std::unique_ptr<server::CellLink> link_;
  server::HandlerPool pool_;
  // Apart from the commands: a look must not wait for shards that load.
  server::HandlerPool looks_{1};
  SerialExecutor executor_{"sm-server"};
  CoreDriver<server::ShardBook> book_;
  CoreDriver<server::Membership> membership_;
};

}  // namespace shardmanager
