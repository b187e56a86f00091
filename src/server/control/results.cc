#include "server/control/results.h"

#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <utility>

namespace shardmanager::server {
namespace {

// gRPC tells a call that blocks of its cancellation only if it asks.
constexpr std::chrono::milliseconds kBetweenLooksAtCaller{50};

v1::ShardState ToProto(ResultState state) {
  switch (state) {
    case ResultState::kLoading:
      return v1::LOADING;
    case ResultState::kDone:
      return v1::DONE;
    case ResultState::kFailed:
      return v1::FAILED;
    case ResultState::kStale:
      return v1::STALE;
    case ResultState::kCalledOff:
      return v1::CALLED_OFF;
  }
  return v1::SHARD_STATE_UNSPECIFIED;
}

v1::ShardResults MessageOf(const Reply& reply) {
  v1::ShardResults message;
  for (const ShardResult& r : reply.results) {
    v1::ShardResult* out = message.add_results();
    out->set_shard(r.shard.value());
    out->set_epoch(r.epoch.value());
    out->set_state(ToProto(r.state));
    out->set_progress(r.progress);
    out->set_error(r.error);
    out->set_serving_epoch(r.serving_epoch.value());
  }
  return message;
}

}  // namespace

void Results::Send(const Reply& reply) {
  v1::ShardResults message = MessageOf(reply);
  std::lock_guard lock(mutex_);
  if (message.results_size() > 0) queue_.push_back(std::move(message));
  if (reply.last) end_ = grpc::Status::OK;
  GoOn();
}

void Results::End(const grpc::Status& status) {
  std::lock_guard lock(mutex_);
  end_ = status;
  GoOn();
}

void ResultReactor::GoOn() {
  if (writing_ || finished_) return;
  if (!queue_.empty()) {
    writing_ = true;
    StartWrite(&queue_.front());
  } else if (end_) {
    finished_ = true;
    Finish(*end_);
  }
}

void ResultReactor::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  queue_.pop_front();
  if (!ok) {
    queue_.clear();
    end_ = grpc::Status(grpc::StatusCode::CANCELLED, "the caller has gone");
  }
  GoOn();
}

grpc::Status ResultLoop::Run(const grpc::ServerContext& context,
                             grpc::ServerWriter<v1::ShardResults>& writer) {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !end_) {
      changed_.wait_for(lock, kBetweenLooksAtCaller);
      if (context.IsCancelled()) return {grpc::StatusCode::CANCELLED, "cancelled"};
    }
    if (queue_.empty()) return *end_;
    const v1::ShardResults message = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const bool written = writer.Write(message);
    lock.lock();
    if (!written) return {grpc::StatusCode::CANCELLED, "the caller has gone"};
  }
}

}  // namespace shardmanager::server
