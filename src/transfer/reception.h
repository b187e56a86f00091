// One shard on its way here: runs a Receiver on a thread of its own, and carries out what it
// asks for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "shardmanager/transfer.h"
#include "transfer/local_copy.h"
#include "transfer/receiver.h"
#include "transfer/transfer_client.h"

namespace shardmanager::transfer {

struct ReceptionOptions {
  ReceiverOptions receiver;
  uint64_t batch_bytes = 1 << 20;
  ShardId shard;
  ShardEpoch epoch;
  ServerAt source;
};

// Thread-safe. The destructor stops it; what came stays on the disk.
class Reception {
 public:
  Reception(ReceptionOptions options, std::shared_ptr<LocalCopy> copy, wire::ChannelPool& channels);
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  ShardEpoch epoch() const { return options_.epoch; }
  // It can come to nothing any more.
  bool failed() const;

  // Waits until the copy is whole, verified, and follows.
  absl::Status AwaitReady();
  // AddShard was called: waits until the copy is owned.
  absl::Status AwaitOwned();
  void Stop();

  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void Run();
  void Carry(Output<Receiver::Action> output);
  // Tells the others, or keeps it to be performed. False: it is not one of these.
  bool Tell(const Receiver::Action& action);
  Receiver::Event Perform(const Receiver::Action& action);
  Receiver::Event Store(TransferWrite write, const Custody& custody);
  absl::Status Await(const bool& reached);

  const ReceptionOptions options_;
  const std::shared_ptr<LocalCopy> copy_;
  TransferClient client_;
  std::atomic<uint64_t> rows_{0};
  std::atomic<uint64_t> bytes_{0};

  // ---- of the thread ----
  Receiver receiver_;
  std::optional<Receiver::Action> asked_;
  TimePoint wake_ = kNever;
  std::vector<TransferRow> batch_;  // that came last

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool take_ = false;  // not told to the receiver yet
  bool ready_ = false;
  bool owned_ = false;
  bool stopped_ = false;
  bool ended_ = false;
  absl::Status failure_;
  std::thread thread_;
};

}  // namespace shardmanager::transfer
