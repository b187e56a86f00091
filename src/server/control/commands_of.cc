#include "server/control/commands_of.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/keys/reshape.h"
#include "model/proto_values.h"
#include "model/request_metadata.h"

namespace shardmanager::server {
namespace {

// As documented on the requests.
constexpr int kMaxShardsPerCommand = 10'000;
constexpr int kMostMembers = 64;
constexpr size_t kMostNamed = 5;  // shards, in a line of the log

// What is wrong with the grants of a command.
absl::Status CheckGrants(const google::protobuf::RepeatedPtrField<v1::ShardGrant>& grants,
                         CommandKind kind) {
  if (grants.empty() || grants.size() > kMaxShardsPerCommand) {
    return absl::InvalidArgumentError(
        absl::StrCat("shards: found ", grants.size(), "; allowed: 1 to ", kMaxShardsPerCommand));
  }
  std::set<std::string> seen;
  for (int i = 0; i < grants.size(); ++i) {
    const v1::ShardGrant& grant = grants[i];
    const std::string at = absl::StrCat("shards[", i, "].");
    const bool role = grant.role() == v1::PRIMARY || grant.role() == v1::SECONDARY;
    if (grant.shard().empty()) {
      return absl::InvalidArgumentError(at + "shard: found \"\"; allowed: a shard's id");
    }
    if (!seen.insert(grant.shard()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(at, "shard: found \"", grant.shard(), "\" again; allowed: once"));
    }
    if (grant.epoch() == 0) {
      return absl::InvalidArgumentError(at + "epoch: found 0; allowed: 1 or more");
    }
    const bool comes = kind == CommandKind::kAdd || kind == CommandKind::kPrepareAdd ||
                       kind == CommandKind::kChangeRole;
    if (comes && !role) {
      return absl::InvalidArgumentError(absl::StrCat(
          at, "role: found ", static_cast<int>(grant.role()), "; allowed: PRIMARY, SECONDARY"));
    }
    if (grant.members().members_size() > kMostMembers) {
      return absl::InvalidArgumentError(absl::StrCat(at, "members: found ",
                                                     grant.members().members_size(),
                                                     "; allowed: at most ", kMostMembers));
    }
    if (grant.made_of_size() > kMostReshaped) {
      return absl::InvalidArgumentError(absl::StrCat(at, "made_of: found ", grant.made_of_size(),
                                                     "; allowed: at most ", kMostReshaped));
    }
    if (kind == CommandKind::kSetMembers && !grant.has_members()) {
      return absl::InvalidArgumentError(at + "members: found nothing; required");
    }
    if (kind == CommandKind::kPrepareDrop && grant.next_epoch() <= grant.epoch()) {
      return absl::InvalidArgumentError(absl::StrCat(at, "next_epoch: found ", grant.next_epoch(),
                                                     "; allowed: above epoch ", grant.epoch()));
    }
  }
  return absl::OkStatus();
}

std::optional<Members> MembersOf(const v1::ShardGrant& grant) {
  if (!grant.has_members()) return std::nullopt;
  Members members;
  for (const v1::ShardMember& m : grant.members().members()) {
    members.push_back({ServerName(m.server()), m.endpoint()});
  }
  return members;
}

std::optional<ShardOrigin> OriginOf(const v1::ShardGrant& grant) {
  if (grant.made_of().empty()) return std::nullopt;
  ShardOrigin origin{{}, grant.range().start(), grant.range().end(), grant.hash_keys()};
  for (const std::string& shard : grant.made_of()) origin.made_of.emplace_back(shard);
  return origin;
}

std::vector<Reshape::Shard> ToShards(const google::protobuf::RepeatedPtrField<v1::Shard>& shards) {
  std::vector<Reshape::Shard> out;
  for (const v1::Shard& shard : shards) {
    out.push_back({ShardId(shard.id()), shard.range().start(), shard.range().end()});
  }
  return out;
}

}  // namespace

absl::StatusOr<Reshape> ReshapeOf(const v1::Reshape& reshape) {
  const bool fits = !reshape.from().empty() && !reshape.to().empty() &&
                    reshape.from_size() <= kMostReshaped && reshape.to_size() <= kMostReshaped;
  if (fits) return Reshape{ToShards(reshape.from()), ToShards(reshape.to()), reshape.hash_keys()};
  return absl::InvalidArgumentError(absl::StrCat("reshape: found ", reshape.from_size(), " and ",
                                                 reshape.to_size(), " shards; allowed: 1 to ",
                                                 kMostReshaped, " of each"));
}

Command FromHeader(const v1::CommandHeader& header) {
  Command command;
  command.app = header.app();
  command.server = header.server();
  command.incarnation = Incarnation(header.incarnation());
  command.leader_epoch = LeaderEpoch(header.leader_epoch());
  return command;
}

namespace {

absl::Status Missing(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("found nothing; required: ", what));
}

// As Command::operations has them.
std::string OperationsOf(const google::protobuf::RepeatedPtrField<v1::ShardGrant>& grants) {
  std::map<std::string, std::vector<std::string>> shards_of;
  for (const v1::ShardGrant& grant : grants) {
    if (grant.operation().empty()) continue;
    shards_of[absl::CEscape(grant.operation().substr(0, request_metadata::kLongestOperation))]
        .push_back(absl::CEscape(grant.shard()));
  }
  return absl::StrJoin(shards_of, "; ", [](std::string* out, const auto& entry) {
    const auto& [operation, shards] = entry;
    const size_t named = std::min(shards.size(), kMostNamed);
    absl::StrAppend(
        out, operation, " (",
        absl::StrJoin(shards.begin(), shards.begin() + static_cast<ptrdiff_t>(named), ", "));
    if (named < shards.size()) absl::StrAppend(out, " and ", shards.size() - named, " more");
    absl::StrAppend(out, ")");
  });
}

// What all commands have.
template <typename Request>
absl::StatusOr<Command> Common(CommandKind kind, const Request& request) {
  if (absl::Status status = CheckGrants(request.shards(), kind); !status.ok()) return status;
  Command command = FromHeader(request.header());
  command.kind = kind;
  command.operations = OperationsOf(request.shards());
  for (const v1::ShardGrant& grant : request.shards()) {
    const Role role = grant.role() == v1::SECONDARY ? Role::kSecondary : Role::kPrimary;
    command.grants.push_back({.shard = ShardId(grant.shard()),
                              .role = role,
                              .epoch = ShardEpoch(grant.epoch()),
                              .members = MembersOf(grant),
                              .members_version = grant.members().version(),
                              .origin = OriginOf(grant)});
  }
  return command;
}

}  // namespace

absl::StatusOr<Command> CommandOf(const v1::AddShardRequest& request) {
  return Common(CommandKind::kAdd, request);
}

absl::StatusOr<Command> CommandOf(const v1::DropShardRequest& request) {
  return Common(CommandKind::kDrop, request);
}

absl::StatusOr<Command> CommandOf(const v1::ChangeRoleRequest& request) {
  const bool named = !request.new_primary().empty();
  if (named != !request.new_primary_endpoint().empty()) {
    return Missing("new_primary and new_primary_endpoint: both or neither");
  }
  auto command = Common(CommandKind::kChangeRole, request);
  if (!named || !command.ok()) return command;
  for (const v1::ShardGrant& grant : request.shards()) {
    command->successors.push_back(
        {request.new_primary(), request.new_primary_endpoint(), ShardEpoch(grant.epoch())});
  }
  return command;
}

absl::StatusOr<Command> CommandOf(const v1::PrepareAddShardRequest& request) {
  if (request.current_owner().empty()) return Missing("current_owner: a server's name");
  auto command = Common(CommandKind::kPrepareAdd, request);
  if (!command.ok()) return command;
  command->old_owner = request.current_owner();
  const Peer old_owner{ServerName(request.current_owner()), request.current_owner_endpoint()};
  for (Grant& grant : command->grants) grant.old_owner = old_owner;
  return command;
}

absl::StatusOr<Command> CommandOf(const v1::PrepareDropShardRequest& request) {
  if (request.new_owner().empty()) return Missing("new_owner: a server's name");
  if (request.new_owner_endpoint().empty()) return Missing("new_owner_endpoint: host:port");
  auto command = Common(CommandKind::kPrepareDrop, request);
  if (!command.ok()) return command;
  for (const v1::ShardGrant& grant : request.shards()) {
    command->successors.push_back(
        {request.new_owner(), request.new_owner_endpoint(), ShardEpoch(grant.next_epoch())});
  }
  return command;
}

absl::StatusOr<Command> CommandOf(const v1::UpdateMembershipRequest& request) {
  return Common(CommandKind::kSetMembers, request);
}

}  // namespace shardmanager::server
