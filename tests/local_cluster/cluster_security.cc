#include "tests/local_cluster/cluster_security.h"

#include <cstdlib>
#include <utility>

#include "runtime/clock.h"
#include "security/cert_folder.h"
#include "wire/keepalive.h"

namespace shardmanager::local {

absl::StatusOr<ClusterSecurity> ClusterSecurity::Make(const std::string& folder, bool insecure) {
  if (!insecure) {
    const std::string certs = folder + "/certs";
    const auto made = security::EnsureTrialFolder(certs, WallMilliseconds() / 1'000);
    if (!made.ok()) return made.status();
    setenv("SM_CERTS", certs.c_str(), 1);
  }
  ClusterSecurity security;
  const std::vector<std::string> flags =
      insecure ? std::vector<std::string>{"--insecure"} : std::vector<std::string>{};
  const absl::Status status =
      security.Change([flags](const std::string&) { return flags; }, {.insecure = insecure});
  if (!status.ok()) return status;
  return security;
}

absl::Status ClusterSecurity::Change(Flags flags, const Security& own) {
  auto transport = wire::Transport::Make(own, "", {security::Anybody()});
  if (!transport.ok()) return transport.status();
  transport_ = *std::move(transport);
  flags_ = std::move(flags);
  own_ = own;
  ++changes_;
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> ClusterSecurity::Connect(const std::string& endpoint) const {
  grpc::ChannelArguments arguments;
  // Processes come and go here: look again soon.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A stream whose other end went while the network was cut would wait for ever.
  wire::SetKeepalive({.ping_after = Seconds(10), .give_up = Seconds(5)}, arguments);
  arguments.SetMaxReceiveMessageSize(-1);
  return transport_->Open(endpoint, security::AMapSource(), std::move(arguments));
}

}  // namespace shardmanager::local
