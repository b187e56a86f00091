// Keeps a standby's history as the leader's.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "history/history.h"
#include "wire/transport.h"

namespace shardmanager::wire {

// Hears the leader's events, from the last one on that is kept, and has them kept, so that they are
// there when this process leads. A thread of its own. Thread-safe.
class HistoryFollower {
 public:
  // `history` must outlive it.
  HistoryFollower(std::shared_ptr<const Transport> transport, history::History& history);
  ~HistoryFollower();

  // From now on follows the leader at this endpoint; "": nobody. Returns at once.
  void Follow(const std::string& leader);

 private:
  void Run();
  // Until the stream ends.
  grpc::Status Hear(const std::string& leader);
  // False: the follower is to end.
  bool Pause();

  const std::shared_ptr<const Transport> transport_;
  history::History& history_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string leader_;
  bool stopping_ = false;
  grpc::ClientContext* under_way_ = nullptr;  // of the stream, to cancel it

  std::thread thread_;
};

}  // namespace shardmanager::wire
