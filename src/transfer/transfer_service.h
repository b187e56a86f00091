// The ShardTransfer service (transfer.proto): what other servers ask of the copies here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "shardmanager/v1/transfer.grpc.pb.h"
#include "transfer/local_copy.h"

namespace shardmanager::transfer {

// Thread-safe.
class TransferService final : public v1::ShardTransfer::Service {
 public:
  using Find = std::function<absl::StatusOr<std::shared_ptr<LocalCopy>>(const ShardId&)>;

  // Is the call of the server of this name?
  using CheckTaker =
      std::function<absl::Status(const grpc::ServerContextBase& context, const std::string& taker)>;

  // `server`: this one's name.
  TransferService(std::string server, Find find, CheckTaker check_taker)
      : server_(std::move(server)), find_(std::move(find)), check_taker_(std::move(check_taker)) {}

  grpc::Status OpenTransfer(grpc::ServerContext* context, const v1::OpenTransferRequest* request,
                            v1::OpenTransferResponse* response) override;
  grpc::Status ReadRows(grpc::ServerContext* context, const v1::ReadRowsRequest* request,
                        v1::ReadRowsResponse* response) override;
  grpc::Status ReadChanges(grpc::ServerContext* context, const v1::ReadChangesRequest* request,
                           v1::ReadChangesResponse* response) override;
  grpc::Status ClaimShard(grpc::ServerContext* context, const v1::ClaimShardRequest* request,
                          v1::ClaimShardResponse* response) override;
  grpc::Status ConfirmShard(grpc::ServerContext* context, const v1::ConfirmShardRequest* request,
                            v1::ConfirmShardResponse* response) override;

 private:
  absl::StatusOr<std::shared_ptr<LocalCopy>> CopyFor(const grpc::ServerContextBase& context,
                                                     const v1::TransferHeader& header) const;
  // For those who read rows.
  absl::StatusOr<std::shared_ptr<LocalCopy>> ReadableFor(const grpc::ServerContextBase& context,
                                                         const v1::TransferHeader& header) const;

  const std::string server_;
  const Find find_;
  const CheckTaker check_taker_;
};

}  // namespace shardmanager::transfer
