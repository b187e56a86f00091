#include "transfer/transfer_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transfer/transfer_messages.h"
#include "wire/grpc_status.h"

namespace shardmanager::transfer {
namespace {

ServerAt TakerOf(const v1::TransferHeader& header) {
  return {header.taker(), header.taker_endpoint()};
}

uint64_t BatchBytes(uint32_t asked) {
  return asked == 0 ? kMostBatchBytes : std::min<uint64_t>(asked, kMostBatchBytes);
}

}  // namespace

absl::StatusOr<std::shared_ptr<LocalCopy>> TransferService::CopyFor(
    const grpc::ServerContextBase& context, const v1::TransferHeader& header) const {
  if (absl::Status s = CheckHeader(header); !s.ok()) return s;
  if (absl::Status s = check_taker_(context, header.taker()); !s.ok()) return s;
  if (header.server() != server_) {
    // Another one may have its port now; it will be back.
    return absl::UnavailableError(
        absl::StrCat("header.server: found \"", header.server(), "\"; allowed: \"", server_, "\""));
  }
  return find_(ShardId(header.shard()));
}

absl::StatusOr<std::shared_ptr<LocalCopy>> TransferService::ReadableFor(
    const grpc::ServerContextBase& context, const v1::TransferHeader& header) const {
  auto copy = CopyFor(context, header);
  if (!copy.ok()) return copy;
  absl::Status may = CheckReader((*copy)->custody(), TakerOf(header), ShardEpoch(header.epoch()));
  if (!may.ok()) return may;
  return copy;
}

grpc::Status TransferService::OpenTransfer(grpc::ServerContext* context,
                                           const v1::OpenTransferRequest* request,
                                           v1::OpenTransferResponse* response) {
  auto copy = CopyFor(*context, request->header());
  if (absl::IsNotFound(copy.status())) return grpc::Status::OK;  // COPY_ABSENT
  if (!copy.ok()) return wire::ToGrpc(copy.status());
  const Custody custody = (*copy)->custody();
  auto contents = (*copy)->shard().State();
  if (!contents.ok()) return wire::ToGrpc(contents.status());
  response->set_state(static_cast<v1::CopyState>(custody.state));
  response->set_lineage(custody.lineage);
  response->set_first_sequence(contents->first_sequence);
  response->set_last_sequence(contents->last_sequence);
  if (custody.state != CopyState::kReleased) return grpc::Status::OK;
  response->set_next_server(custody.other.server);
  response->set_next_endpoint(custody.other.endpoint);
  return grpc::Status::OK;
}

grpc::Status TransferService::ReadRows(grpc::ServerContext* context,
                                       const v1::ReadRowsRequest* request,
                                       v1::ReadRowsResponse* response) {
  auto copy = ReadableFor(*context, request->header());
  if (!copy.ok()) return wire::ToGrpc(copy.status());
  std::optional<std::string> after;
  if (!request->from_start()) after = request->after();
  auto rows = (*copy)->shard().ReadRows(after, BatchBytes(request->max_bytes()));
  if (!rows.ok()) return wire::ToGrpc(rows.status());
  response->set_done(rows->done);
  if (absl::Status s = ToProto(std::move(rows->rows), response->mutable_rows()); !s.ok()) {
    return wire::ToGrpc(s);
  }
  response->set_checksum(Checksum(response->rows()));
  return grpc::Status::OK;
}

grpc::Status TransferService::ReadChanges(grpc::ServerContext* context,
                                          const v1::ReadChangesRequest* request,
                                          v1::ReadChangesResponse* response) {
  auto copy = ReadableFor(*context, request->header());
  if (!copy.ok()) return wire::ToGrpc(copy.status());
  // Before the read: what is read with "closed" is all there will be.
  const uint32_t wait_ms = std::min(request->wait_ms(), kMostWaitMs);
  response->set_closed((*copy)->AwaitClosed(Milliseconds(wait_ms)));
  auto changes =
      (*copy)->shard().ReadChanges(request->after_sequence(), BatchBytes(request->max_bytes()));
  if (!changes.ok()) return wire::ToGrpc(changes.status());
  response->set_last_sequence(changes->last_sequence);
  response->set_at_end(changes->at_end);
  response->set_count(changes->total.count);
  response->set_sum(changes->total.sum);
  absl::Status status = ToProto(std::move(changes->rows), response->mutable_changes());
  if (!status.ok()) return wire::ToGrpc(status);
  response->set_checksum(Checksum(response->changes()));
  return grpc::Status::OK;
}

grpc::Status TransferService::ClaimShard(grpc::ServerContext* context,
                                         const v1::ClaimShardRequest* request,
                                         v1::ClaimShardResponse* response) {
  const v1::TransferHeader& header = request->header();
  auto copy = CopyFor(*context, header);
  if (absl::IsNotFound(copy.status())) {
    response->set_verdict(v1::CLAIM_UNKNOWN);
    return grpc::Status::OK;
  }
  if (!copy.ok()) return wire::ToGrpc(copy.status());
  auto result = (*copy)->Answer(
      {TakerOf(header), ShardEpoch(header.epoch()), ShardEpoch(request->given_up_epoch())});
  if (!result.ok()) return wire::ToGrpc(result.status());
  // The proto's begin with "unspecified".
  response->set_verdict(
      static_cast<v1::ClaimVerdict>(static_cast<int>(result->answer.verdict) + 1));
  response->set_last_sequence(result->contents.last_sequence);
  response->set_count(result->contents.total.count);
  response->set_sum(result->contents.total.sum);
  response->set_other_server(result->answer.other.server);
  response->set_other_endpoint(result->answer.other.endpoint);
  response->set_other_epoch(result->answer.other_epoch.value());
  return grpc::Status::OK;
}

grpc::Status TransferService::ConfirmShard(grpc::ServerContext* context,
                                           const v1::ConfirmShardRequest* request,
                                           v1::ConfirmShardResponse*) {
  const v1::TransferHeader& header = request->header();
  auto copy = CopyFor(*context, header);
  if (!copy.ok()) return wire::ToGrpc(copy.status());
  return wire::ToGrpc((*copy)->Confirmed(header.taker(), ShardEpoch(header.epoch())));
}

}  // namespace shardmanager::transfer
