// Rows on the wire: bounded, and with a checksum.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/transfer.h"
#include "shardmanager/v1/transfer.pb.h"

namespace shardmanager::transfer {

using ProtoRows = google::protobuf::RepeatedPtrField<v1::TransferRow>;

constexpr uint64_t kMostBatchBytes = 1 << 20;
constexpr uint32_t kMostWaitMs = 1'000;

// FAILED_PRECONDITION: a row is larger than allowed.
absl::Status ToProto(std::vector<TransferRow> rows, ProtoRows* out);
// DATA_LOSS: they are not as they were sent, or larger than allowed.
absl::StatusOr<std::vector<TransferRow>> FromProto(ProtoRows* rows, uint64_t checksum);
uint64_t Checksum(const ProtoRows& rows);
uint64_t BytesOf(const std::vector<TransferRow>& rows);

// What of a header is missing. INVALID_ARGUMENT names the field.
absl::Status CheckHeader(const v1::TransferHeader& header);

}  // namespace shardmanager::transfer
