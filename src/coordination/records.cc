#include "coordination/records.h"

#include "absl/strings/str_format.h"
#include "coordination/envelope.h"

namespace shardmanager {
namespace {

absl::Status BelongsTo(std::string_view found, std::string_view expected) {
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrFormat("record belongs to \"%s\", not to \"%s\"", found, expected));
}

// Enumerations of proto3 let unknown values through.
absl::Status Known(const v1::AssignedReplica& replica) {
  if (!v1::Phase_IsValid(replica.phase())) {
    return absl::UnimplementedError(
        absl::StrFormat("record has phase %d of shard \"%s\", which this build does not know",
                        static_cast<int>(replica.phase()), replica.shard()));
  }
  if (!v1::Role_IsValid(replica.role())) {
    return absl::UnimplementedError(
        absl::StrFormat("record has role %d of shard \"%s\", which this build does not know",
                        static_cast<int>(replica.role()), replica.shard()));
  }
  if (replica.phase() == v1::PHASE_UNSPECIFIED || replica.role() == v1::ROLE_UNSPECIFIED) {
    return absl::DataLossError(
        absl::StrFormat("record gives shard \"%s\" no phase or no role", replica.shard()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status OpenSpec(std::string_view bytes, const AppName& app, v1::StoredSpec* spec) {
  if (absl::Status status = Open(bytes, spec); !status.ok()) return status;
  return BelongsTo(spec->spec().name(), app.value());
}

absl::Status OpenServer(std::string_view bytes, const ServerName& server,
                        v1::ServerRecord* record) {
  if (bytes.empty()) return absl::OkStatus();
  if (absl::Status status = Open(bytes, record); !status.ok()) return status;
  return BelongsTo(record->server(), server.value());
}

absl::Status OpenLive(std::string_view bytes, const LiveName& live, v1::LiveRecord* record) {
  if (absl::Status status = Open(bytes, record); !status.ok()) return status;
  if (record->incarnation() != live.incarnation.value()) {
    return absl::DataLossError(absl::StrFormat("record is of life %d, not of life %d",
                                               record->incarnation(), live.incarnation.value()));
  }
  return BelongsTo(record->server(), live.server.value());
}

absl::Status OpenAssignment(std::string_view bytes, const ServerName& server,
                            v1::AssignmentRecord* record) {
  if (absl::Status status = Open(bytes, record); !status.ok()) return status;
  for (const v1::AssignedReplica& replica : record->replicas()) {
    if (absl::Status status = Known(replica); !status.ok()) return status;
  }
  return BelongsTo(record->server(), server.value());
}

}  // namespace shardmanager
