// How the connections of a local cluster are secured, and how this process connects to its
// programs.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shardmanager/security.h"
#include "wire/transport.h"

namespace shardmanager::local {

// Not thread-safe, but for what is const.
class ClusterSecurity {
 public:
  // The flags of a program. `who`: its identity's path. Example: "server/kv/kv-3".
  using Flags = std::function<std::vector<std::string>(const std::string& who)>;

  // `insecure`: connections are in plain text. Else all programs have the certificate for trials in
  // `folder`/certs: $SM_CERTS names it to them, and to this process.
  static absl::StatusOr<ClusterSecurity> Make(const std::string& folder, bool insecure);

  // From here on: programs that are started get these flags, and this process connects like this.
  absl::Status Change(Flags flags, const Security& own);

  std::vector<std::string> FlagsOf(const std::string& who) const { return flags_(who); }
  // How often it was changed.
  int changes() const { return changes_; }
  // For clients of this process. Of a cluster with certificates for trials they find it anyway.
  const Security& own() const { return own_; }
  const std::shared_ptr<const wire::Transport>& transport() const { return transport_; }
  // To a shardmanagerd or a relay.
  std::shared_ptr<grpc::Channel> Connect(const std::string& endpoint) const;

 private:
  Flags flags_;
  Security own_;
  std::shared_ptr<const wire::Transport> transport_;
  int changes_ = 0;
};

}  // namespace shardmanager::local
