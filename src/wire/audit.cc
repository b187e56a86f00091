#include "wire/audit.h"

#include "model/request_metadata.h"
#include "runtime/operation_id.h"

namespace shardmanager::wire {

absl::StatusOr<std::string> OperationOf(grpc::ServerContext* context) {
  const auto found = context->client_metadata().find(request_metadata::kOperation);
  std::string id = found == context->client_metadata().end()
                       ? MakeOperationId()
                       : std::string(found->second.data(), found->second.size());
  if (absl::Status valid = CheckOperationId(id); !valid.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request_metadata::kOperation, ": ", valid.message()));
  }
  context->AddTrailingMetadata(request_metadata::kOperation, id);
  return id;
}

}  // namespace shardmanager::wire
