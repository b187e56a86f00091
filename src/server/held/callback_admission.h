// Admission for services of gRPC's callback API: what Server::Admit stands on where no thread
// waits.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "server/forwarding.h"
#include "server/held/held_requests.h"
#include "server/traffic/request_watch.h"
#include "shardmanager/server.h"

namespace shardmanager {
class ServerImpl;
}

namespace shardmanager::server {

// Thread-safe.
class CallbackAdmission {
 public:
  // All must outlive this.
  CallbackAdmission(ServerImpl& server, const server_internal::RequestHooks& hooks,
                    AdmissionTable& gates, Forwarding& forwarding, int threads);

  // As the methods of Server that have these names.
  std::optional<Admission> AdmitAtOnce(grpc::CallbackServerContext& context,
                                       server_internal::EndedBy ended_by);
  std::shared_ptr<server_internal::Wait> AdmitLater(grpc::CallbackServerContext& context,
                                                    sdk_internal::StubFactory make_stub,
                                                    server_internal::Arrival& arrival,
                                                    server_internal::EndedBy ended_by);
  void Admit(const ShardId& shard, Duration patience, std::function<void(Admission)> then);

  // As HeldRequests::Finish.
  void Finish() { held_.Finish(); }

 private:
  using Admitted = AdmissionTable::Admitted;
  // What becomes of a call, as `admitted` says.
  void GoOn(grpc::CallbackServerContext& context, Admitted admitted,
            sdk_internal::StubFactory make_stub, server_internal::Arrival& arrival,
            server_internal::EndedBy ended_by);
  void SendOn(grpc::CallbackServerContext& context, Admitted admitted,
              sdk_internal::StubFactory make_stub, server_internal::Arrival& arrival);

  ServerImpl& server_;
  const server_internal::RequestHooks& hooks_;
  Forwarding& forwarding_;
  HeldRequests held_;
};

}  // namespace shardmanager::server
