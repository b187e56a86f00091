#include "tests/support/kv_stream.h"

#include <utility>

#include "runtime/clock.h"
#include "tests/support/kv_stream_call.h"

namespace shardmanager::testing {

// ---- what tests call ----

KvStream::KvStream(std::unique_ptr<Call> call) : call_(std::move(call)) {}
KvStream::~KvStream() = default;

std::vector<KvStream::Ack> KvStream::Put(uint64_t first, const std::vector<Message>& messages,
                                         TimePoint deadline) {
  std::vector<kv::PutEachRequest> requests;
  for (const Message& message : messages) {
    kv::PutEachRequest& request = requests.emplace_back();
    request.set_sequence(first++);
    request.set_key(message.key);
    request.set_value(message.value);
  }
  call_->Send(std::move(requests));
  if (!call_->AwaitAnswers(messages.size(), deadline)) {
    call_->Cancel();
    call_->AwaitStatus();  // answers may still come before it
  }
  return call_->TakeAcks();
}

void KvStream::Close(TimePoint deadline) {
  call_->EndWrites(deadline);
  call_->AwaitStatus();
}

bool KvStream::Ended() const { return call_->AnswersEnded(); }

absl::Status KvStream::End() {
  const grpc::Status& status = call_->AwaitStatus();
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

bool KvStream::ShouldReopen() { return call_->context().ShouldReopen(call_->AwaitStatus()); }

// ---- gRPC ----

KvStream::Call::Call(const Bound<kv::KeyValue>& bound)
    : bound_(bound), context_(bound.NewContext()) {
  bound_->async()->PutEach(context_.get(), this);
  AddHold();
  StartRead(&response_);
  StartCall();
}

KvStream::Call::~Call() {
  if (!AnswersEnded()) Cancel();
  AwaitStatus();
}

void KvStream::Call::Send(std::vector<kv::PutEachRequest> requests) {
  const kv::PutEachRequest* next = nullptr;
  {
    std::lock_guard lock(mutex_);
    acks_.clear();
    const bool idle = unsent_.empty();
    for (kv::PutEachRequest& request : requests) unsent_.push_back(std::move(request));
    if (idle && !unsent_.empty()) next = &unsent_.front();
  }
  if (next != nullptr) StartWrite(next);
}

bool KvStream::Call::AwaitAnswers(size_t count, TimePoint deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline - MonotonicNow(),
                           [&] { return answers_ended_ || acks_.size() >= count; });
}

std::vector<KvStream::Ack> KvStream::Call::TakeAcks() {
  std::lock_guard lock(mutex_);
  return std::exchange(acks_, {});
}

void KvStream::Call::EndWrites(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  const auto left = [&] { return deadline - MonotonicNow(); };
  if (!changed_.wait_for(lock, left(), [&] { return answers_ended_ || unsent_.empty(); })) {
    return Cancel();
  }
  if (answers_ended_) return;
  lock.unlock();
  StartWritesDone();
  lock.lock();
  if (!changed_.wait_for(lock, left(), [&] { return answers_ended_; })) Cancel();
}

bool KvStream::Call::AnswersEnded() const {
  std::lock_guard lock(mutex_);
  return answers_ended_;
}

const grpc::Status& KvStream::Call::AwaitStatus() {
  if (std::exchange(held_, false)) RemoveHold();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  return status_;
}

void KvStream::Call::OnReadDone(bool ok) {
  {
    std::lock_guard lock(mutex_);
    if (ok) {
      const kv::ServedBy& by = response_.served_by();
      acks_.push_back({.sequence = response_.sequence(),
                       .at = MonotonicNow(),
                       .server = by.server(),
                       .shard = by.shard(),
                       .epoch = by.epoch()});
    } else {
      answers_ended_ = true;
    }
    changed_.notify_all();
  }
  if (ok) StartRead(&response_);
}

void KvStream::Call::OnWriteDone(bool ok) {
  const kv::PutEachRequest* next = nullptr;
  {
    std::lock_guard lock(mutex_);
    unsent_.pop_front();
    if (!ok) unsent_.clear();
    if (!unsent_.empty()) next = &unsent_.front();
    changed_.notify_all();
  }
  if (next != nullptr) StartWrite(next);
}

void KvStream::Call::OnDone(const grpc::Status& status) {
  std::lock_guard lock(mutex_);
  status_ = status;
  done_ = true;
  changed_.notify_all();
}

}  // namespace shardmanager::testing
