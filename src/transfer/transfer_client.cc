#include "transfer/transfer_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "transfer/transfer_messages.h"
#include "wire/grpc_status.h"

namespace shardmanager::transfer {
namespace {

// Of one call, beside what it was asked to wait. A batch is a megabyte.
constexpr Duration kCallPatience = Seconds(5);

// The verdicts have the order of the proto's, which begin with "unspecified".
absl::StatusOr<Verdict> FromProto(v1::ClaimVerdict verdict) {
  if (verdict < v1::CLAIM_RELEASED || verdict > v1::CLAIM_UNKNOWN) {
    return absl::UnimplementedError(absl::StrCat("verdict: found ", static_cast<int>(verdict),
                                                 ", which this build does not know"));
  }
  return static_cast<Verdict>(verdict - v1::CLAIM_RELEASED);
}

}  // namespace

template <typename Request, typename Response>
absl::Status TransferClient::Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                                  const ServerAt& at, Request& request, Response* response,
                                  Duration patience) {
  v1::TransferHeader* header = request.mutable_header();
  header->set_server(at.server);
  header->set_shard(shard_.value());
  header->set_taker(self_.server);
  header->set_taker_endpoint(self_.endpoint);
  header->set_epoch(epoch_.value());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return absl::CancelledError("stopped");
    current_ = &context;
  }
  const auto channel = channels_.Get(at.endpoint);
  const auto stub = channel->Stub(&sdk_internal::MakeStub<Stub>);
  const grpc::Status status =
      (static_cast<Stub*>(stub.get())->*method)(&context, request, response);
  std::lock_guard lock(mutex_);
  current_ = nullptr;
  return wire::FromGrpc(status);
}

void TransferClient::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  if (current_ != nullptr) current_->TryCancel();
}

Receiver::Event TransferClient::Open(const ServerAt& at) {
  v1::OpenTransferRequest request;
  v1::OpenTransferResponse response;
  absl::Status status = Call(&Stub::OpenTransfer, at, request, &response, kCallPatience);
  if (!status.ok()) return Failed{std::move(status)};
  if (!v1::CopyState_IsValid(response.state())) {
    return Failed{absl::UnimplementedError("state: found one that this build does not know")};
  }
  return Opened{static_cast<CopyState>(response.state()),
                response.lineage(),
                response.first_sequence(),
                response.last_sequence(),
                {response.next_server(), response.next_endpoint()}};
}

Receiver::Event TransferClient::ReadRows(const ServerAt& at, const Place& place, uint64_t max_bytes,
                                         std::vector<TransferRow>* rows) {
  v1::ReadRowsRequest request;
  request.set_from_start(!place.started);
  request.set_after(place.after);
  request.set_max_bytes(static_cast<uint32_t>(max_bytes));
  v1::ReadRowsResponse response;
  absl::Status status = Call(&Stub::ReadRows, at, request, &response, kCallPatience);
  if (!status.ok()) return Failed{std::move(status)};
  auto came = FromProto(response.mutable_rows(), response.checksum());
  if (!came.ok()) return Failed{came.status()};
  *rows = *std::move(came);
  if (rows->empty() && !response.done()) return Failed{absl::DataLossError("an empty batch came")};
  return RowsCame{BytesOf(*rows), rows->empty() ? "" : rows->back().key, response.done()};
}

Receiver::Event TransferClient::ReadChanges(const ServerAt& at, uint64_t after, uint64_t max_bytes,
                                            Duration gather, std::vector<TransferRow>* rows) {
  v1::ReadChangesRequest request;
  request.set_after_sequence(after);
  request.set_max_bytes(static_cast<uint32_t>(max_bytes));
  request.set_wait_ms(static_cast<uint32_t>(gather / Milliseconds(1)));
  v1::ReadChangesResponse response;
  absl::Status status = Call(&Stub::ReadChanges, at, request, &response, gather + kCallPatience);
  if (!status.ok()) return Failed{std::move(status)};
  auto came = FromProto(response.mutable_changes(), response.checksum());
  if (!came.ok()) return Failed{came.status()};
  *rows = *std::move(came);
  return ChangesCame{.changes = rows->size(),
                     .bytes = BytesOf(*rows),
                     .sequence = response.last_sequence(),
                     .at_end = response.at_end(),
                     .total = {response.count(), response.sum()},
                     .closed = response.closed()};
}

Receiver::Event TransferClient::Claim(const ServerAt& at, ShardEpoch given_up) {
  v1::ClaimShardRequest request;
  request.set_given_up_epoch(given_up.value());
  v1::ClaimShardResponse response;
  absl::Status status = Call(&Stub::ClaimShard, at, request, &response, kCallPatience);
  if (!status.ok()) return Failed{std::move(status)};
  auto verdict = FromProto(response.verdict());
  if (!verdict.ok()) return Failed{verdict.status()};
  return Claimed{*verdict,
                 response.last_sequence(),
                 {response.count(), response.sum()},
                 {response.other_server(), response.other_endpoint()},
                 ShardEpoch(response.other_epoch())};
}

Receiver::Event TransferClient::Confirm(const ServerAt& at) {
  v1::ConfirmShardRequest request;
  v1::ConfirmShardResponse response;
  absl::Status status = Call(&Stub::ConfirmShard, at, request, &response, kCallPatience);
  if (!status.ok()) return Failed{std::move(status)};
  return Confirmed{};
}

}  // namespace shardmanager::transfer
