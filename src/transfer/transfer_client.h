// Asks another server for one shard's data. Blocking.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "shardmanager/transfer.h"
#include "shardmanager/v1/transfer.grpc.pb.h"
#include "transfer/receiver.h"
#include "wire/channel_pool.h"

namespace shardmanager::transfer {

// Every method answers with the event for the Receiver: what came, or Failed. One call at a
// time; Stop() from any thread.
class TransferClient {
 public:
  TransferClient(wire::ChannelPool& channels, ServerAt self, ShardId shard, ShardEpoch epoch)
      : channels_(channels), self_(std::move(self)), shard_(std::move(shard)), epoch_(epoch) {}

  Receiver::Event Open(const ServerAt& at);
  Receiver::Event ReadRows(const ServerAt& at, const Place& place, uint64_t max_bytes,
                           std::vector<TransferRow>* rows);
  Receiver::Event ReadChanges(const ServerAt& at, uint64_t after, uint64_t max_bytes,
                              Duration gather, std::vector<TransferRow>* rows);
  Receiver::Event Claim(const ServerAt& at, ShardEpoch given_up);
  Receiver::Event Confirm(const ServerAt& at);

  // Ends the call that is out, and all later ones at once.
  void Stop();

 private:
  using Stub = v1::ShardTransfer::Stub;

  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const ServerAt& at, Request& request, Response* response, Duration patience);

  wire::ChannelPool& channels_;
  const ServerAt self_;
  const ShardId shard_;
  const ShardEpoch epoch_;
  std::mutex mutex_;
  grpc::ClientContext* current_ = nullptr;
  bool stopped_ = false;
};

}  // namespace shardmanager::transfer
