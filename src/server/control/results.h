// The results of one command, on their way to the control plane: in gRPC's callback API, and in the
// one that blocks.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "server/shards/shard_events.h"
#include "shardmanager/v1/shard_server.pb.h"

namespace shardmanager::server {

// gRPC allows one write at a time; the rest queues here. Thread-safe.
class Results {
 public:
  virtual ~Results() = default;

  void Send(const Reply& reply);
  void End(const grpc::Status& status);

 protected:
  // There is something to write, or the end has come. REQUIRES: mutex_ is held.
  virtual void GoOn() = 0;

  std::mutex mutex_;
  std::deque<v1::ShardResults> queue_;
  std::optional<grpc::Status> end_;
};

class ResultReactor final : public Results, public grpc::ServerWriteReactor<v1::ShardResults> {
 public:
  explicit ResultReactor(std::function<void()> on_gone) : on_gone_(std::move(on_gone)) {}

 private:
  void GoOn() override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { End({grpc::StatusCode::CANCELLED, "cancelled"}); }
  void OnDone() override { on_gone_(); }

  const std::function<void()> on_gone_;
  bool writing_ = false;
  bool finished_ = false;
};

class ResultLoop final : public Results {
 public:
  // Writes until the end, or until nobody waits for it any more.
  grpc::Status Run(const grpc::ServerContext& context,
                   grpc::ServerWriter<v1::ShardResults>& writer);

 private:
  void GoOn() override { changed_.notify_one(); }

  std::condition_variable changed_;
};

}  // namespace shardmanager::server
