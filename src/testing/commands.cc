#include "testing/commands.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "shardmanager/v1/shard_server.grpc.pb.h"
#include "wire/transport.h"

namespace shardmanager::testing_internal {
namespace {

using Stub = v1::ShardServer::Stub;

constexpr uint64_t kLeaderEpoch = 1;

absl::Status ToAbsl(const grpc::Status& status, const std::string& what) {
  return {static_cast<absl::StatusCode>(status.error_code()),
          absl::StrCat(what, ": ", status.error_message())};
}

absl::Status ToStatus(const v1::ShardResult& result, const std::string& what) {
  switch (result.state()) {
    case v1::DONE:
      return absl::OkStatus();
    case v1::FAILED:
      return absl::UnknownError(absl::StrCat(what, ": ", result.error()));
    case v1::CALLED_OFF:
      return absl::AbortedError(absl::StrCat(what, ": ", result.error()));
    case v1::STALE:
      return absl::FailedPreconditionError(
          absl::StrCat(what, ": the server knows a newer grant than epoch ", result.epoch()));
    default:
      return absl::InternalError(absl::StrCat(what, ": ended without a result"));
  }
}

}  // namespace

void Commands::FillHeader(const CommandTarget& to, v1::CommandHeader* header) const {
  header->set_app(app_);
  header->set_server(to.server);
  header->set_incarnation(to.incarnation.value());
  header->set_leader_epoch(kLeaderEpoch);
}

template <typename Request>
Request Commands::Fill(const CommandTarget& to, const v1::ShardGrant& grant) const {
  Request request;
  FillHeader(to, request.mutable_header());
  *request.add_shards() = grant;
  return request;
}

template <typename Request, typename Method>
absl::Status Commands::Send(const char* name, const CommandTarget& to, Method method,
                            const Request& request) {
  const std::string what = absl::StrCat(name, " of ", request.shards(0).shard(), " at ", to.server);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience_);
  Stub stub(Channel(to.endpoint));
  auto reader = (stub.*method)(&context, request);
  v1::ShardResult last;
  for (v1::ShardResults results; reader->Read(&results);) last = *results.results().rbegin();
  const grpc::Status status = reader->Finish();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError(
        absl::StrCat(what, " did not end within ", patience_.count(), " ms"));
  }
  return status.ok() ? ToStatus(last, what) : ToAbsl(status, what);
}

absl::Status Commands::Add(const CommandTarget& to, const v1::ShardGrant& grant) {
  return Send("AddShard", to, &Stub::AddShard, Fill<v1::AddShardRequest>(to, grant));
}

absl::Status Commands::Drop(const CommandTarget& to, const v1::ShardGrant& grant) {
  return Send("DropShard", to, &Stub::DropShard, Fill<v1::DropShardRequest>(to, grant));
}

absl::Status Commands::PrepareAdd(const CommandTarget& to, const v1::ShardGrant& grant,
                                  const std::string& old_owner) {
  auto request = Fill<v1::PrepareAddShardRequest>(to, grant);
  request.set_current_owner(old_owner);
  return Send("PrepareAddShard", to, &Stub::PrepareAddShard, request);
}

absl::Status Commands::PrepareDrop(const CommandTarget& to, const v1::ShardGrant& grant,
                                   const CommandTarget& new_owner) {
  auto request = Fill<v1::PrepareDropShardRequest>(to, grant);
  request.set_new_owner(new_owner.server);
  request.set_new_owner_endpoint(new_owner.endpoint);
  return Send("PrepareDropShard", to, &Stub::PrepareDropShard, request);
}

absl::Status Commands::ChangeRole(const CommandTarget& to, const v1::ShardGrant& grant,
                                  const CommandTarget* new_primary) {
  auto request = Fill<v1::ChangeRoleRequest>(to, grant);
  if (new_primary != nullptr) {
    request.set_new_primary(new_primary->server);
    request.set_new_primary_endpoint(new_primary->endpoint);
  }
  return Send("ChangeRole", to, &Stub::ChangeRole, request);
}

absl::Status Commands::SetMembers(const CommandTarget& to, const v1::ShardGrant& grant) {
  return Send("UpdateMembership", to, &Stub::UpdateMembership,
              Fill<v1::UpdateMembershipRequest>(to, grant));
}

absl::StatusOr<v1::CollectLoadResponse> Commands::Collect(const CommandTarget& at) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience_);
  v1::CollectLoadRequest request;
  FillHeader(at, request.mutable_header());
  v1::CollectLoadResponse response;
  const grpc::Status status = Stub(Channel(at.endpoint)).CollectLoad(&context, request, &response);
  if (!status.ok()) return ToAbsl(status, absl::StrCat("CollectLoad at ", at.server));
  return response;
}

std::shared_ptr<grpc::Channel> Commands::Channel(const std::string& endpoint) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<grpc::Channel>& channel = channels_[endpoint];
  if (channel == nullptr) {
    channel = wire::OpenWith(nullptr, endpoint, {});
  }
  return channel;
}

}  // namespace shardmanager::testing_internal
