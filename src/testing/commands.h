// The control plane's commands to servers, over gRPC, each with its last result.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/shard_server.pb.h"

namespace grpc {
class Channel;
}

namespace shardmanager::testing_internal {

struct CommandTarget {
  std::string server;
  std::string endpoint;
  Incarnation incarnation;
};

// Thread-safe. Errors as in TestCell.
class Commands {
 public:
  Commands(std::string app, std::chrono::milliseconds patience)
      : app_(std::move(app)), patience_(patience) {}

  absl::Status Add(const CommandTarget& to, const v1::ShardGrant& grant);
  absl::Status Drop(const CommandTarget& to, const v1::ShardGrant& grant);
  absl::Status PrepareAdd(const CommandTarget& to, const v1::ShardGrant& grant,
                          const std::string& old_owner);
  absl::Status PrepareDrop(const CommandTarget& to, const v1::ShardGrant& grant,
                           const CommandTarget& new_owner);
  // `new_primary`: null, or who is to be the primary in its stead.
  absl::Status ChangeRole(const CommandTarget& to, const v1::ShardGrant& grant,
                          const CommandTarget* new_primary);
  absl::Status SetMembers(const CommandTarget& to, const v1::ShardGrant& grant);
  // A full look.
  absl::StatusOr<v1::CollectLoadResponse> Collect(const CommandTarget& at);

  std::shared_ptr<grpc::Channel> Channel(const std::string& endpoint);

 private:
  template <typename Request>
  Request Fill(const CommandTarget& to, const v1::ShardGrant& grant) const;
  void FillHeader(const CommandTarget& to, v1::CommandHeader* header) const;
  template <typename Request, typename Method>
  absl::Status Send(const char* name, const CommandTarget& to, Method method,
                    const Request& request);

  const std::string app_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // by endpoint
};

}  // namespace shardmanager::testing_internal
