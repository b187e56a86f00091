// The gRPC side of a KvStream. For kv_client.cc and kv_stream.cc.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "kv.grpc.pb.h"
#include "shardmanager/router.h"
#include "tests/support/kv_stream.h"

namespace shardmanager::testing {

// One thread calls the public methods. It holds the call (AddHold) until it has seen the end of the
// answers, so a write never begins on a call that is over.
class KvStream::Call final
    : public grpc::ClientBidiReactor<kv::PutEachRequest, kv::PutEachResponse> {
 public:
  explicit Call(const Bound<kv::KeyValue>& bound);
  ~Call() override;

  void Send(std::vector<kv::PutEachRequest> requests);
  // Until that many answers have come since the last Send(), or there will be no more. False: the
  // deadline passed first.
  bool AwaitAnswers(size_t count, TimePoint deadline);
  std::vector<Ack> TakeAcks();
  // REQUIRES: all that was sent is answered.
  void EndWrites(TimePoint deadline);
  bool AnswersEnded() const;
  void Cancel() { context_->TryCancel(); }
  // Waits for the status. REQUIRES: AnswersEnded(), or Cancel() was called.
  const grpc::Status& AwaitStatus();

  const StreamContext& context() const { return context_; }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const Bound<kv::KeyValue> bound_;
  StreamContext context_;
  kv::PutEachResponse response_;
  bool held_ = true;  // of the thread that calls the public methods

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<kv::PutEachRequest> unsent_;  // the first is being written
  std::vector<Ack> acks_;
  bool answers_ended_ = false;
  bool done_ = false;
  grpc::Status status_;
};

}  // namespace shardmanager::testing
