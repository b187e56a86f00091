// The certificates of a local cluster whose processes each have their own, made with shardctl.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {

// An error with what shardctl said, if it ends with another exit code than 0.
inline absl::Status Shardctl(const local::Cluster& cluster,
                             const std::vector<std::string>& arguments) {
  const auto result = cluster.Shardctl(arguments);
  if (result.exit_code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("shardctl ", arguments.front(), ": ", result.output));
}

class CellCertificates {
 public:
  explicit CellCertificates(std::string folder) : folder_(std::move(folder)) {}

  // `shardctl certs` with these arguments, in this folder.
  absl::Status Run(const local::Cluster& cluster, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "certs");
    arguments.insert(arguments.end(), {"--folder", folder_});
    return Shardctl(cluster, arguments);
  }
  // An authority, and certificates for these identities. Example of one: "server/kv/kv-3".
  absl::Status Make(const local::Cluster& cluster, std::vector<std::string> identities) const {
    absl::Status status = Run(cluster, {"init", "--cell", cluster.options().cell});
    identities.insert(identities.begin(), "issue");
    return status.ok() ? Run(cluster, std::move(identities)) : status;
  }
  // Of one of them.
  std::string Of(const std::string& identity) const { return absl::StrCat(folder_, "/", identity); }

 private:
  const std::string folder_;
};

}  // namespace shardmanager
