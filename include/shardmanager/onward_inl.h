// Calls of callback services that are sent on to the new owner of their shard: the call to it, and
// the pumps that carry the messages of streams there and back.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace shardmanager::server_internal {

// A call to the new owner, made out of the one that it answers.
class OnwardCall {
 public:
  OnwardCall(std::shared_ptr<void> stub, std::unique_ptr<grpc::ClientContext> context,
             grpc::CallbackServerContext& from)
      : stub_(std::move(stub)), context_(std::move(context)), from_(&from) {}

  void* stub() const { return stub_.get(); }
  grpc::ClientContext* context() const { return context_.get(); }
  const grpc::CallbackServerContext& from() const { return *from_; }
  // What came back with it. Each once.
  void PassInitialMetadata() const;
  void PassTrailingMetadata() const;

 private:
  std::shared_ptr<void> stub_;  // after the context, which uses its channel
  std::unique_ptr<grpc::ClientContext> context_;
  grpc::CallbackServerContext* from_;
};

// gRPC lets go of an onward call when it is over and nobody holds it. A pump holds it as long as it
// may begin another operation outside of the reactions of that call.

// Answers from the new owner to the client.
template <typename Response>
class AnswersPump final : public grpc::ClientReadReactor<Response> {
 public:
  AnswersPump(OnwardCall call, grpc::ServerWriteReactor<Response>& client)
      : call_(std::move(call)), client_(client) {}

  const OnwardCall& call() const { return call_; }
  void Begin() {
    this->AddHold();
    this->StartCall();
  }
  void HasWritten(bool ok) {
    if (!ok) call_.context()->TryCancel();
    this->StartRead(&message_);
  }

 private:
  void OnReadInitialMetadataDone(bool) override {
    call_.PassInitialMetadata();
    this->StartRead(&message_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return this->RemoveHold();
    client_.StartWrite(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    call_.PassTrailingMetadata();
    client_.Finish(status);
  }

  const OnwardCall call_;
  grpc::ServerWriteReactor<Response>& client_;
  Response message_;
};

// Messages from the client to the new owner.
template <typename Request>
class RequestsPump final : public grpc::ClientWriteReactor<Request> {
 public:
  RequestsPump(OnwardCall call, grpc::ServerReadReactor<Request>& client)
      : call_(std::move(call)), client_(client) {}

  const OnwardCall& call() const { return call_; }
  void Begin() {
    this->AddHold();
    this->StartCall();
    client_.StartRead(&message_);
  }
  void HasRead(bool ok) {
    if (ok) return this->StartWrite(&message_);
    // A stream that was broken off must not look like a whole one.
    if (call_.from().IsCancelled()) call_.context()->TryCancel();
    this->StartWritesDone();
    this->RemoveHold();
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return this->RemoveHold();
    client_.StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    call_.PassInitialMetadata();
    call_.PassTrailingMetadata();
    client_.Finish(status);
  }

  const OnwardCall call_;
  grpc::ServerReadReactor<Request>& client_;
  Request message_;
};

// Both directions. The new owner may end the stream while a message of the client is awaited, which
// may never come: then that wait holds the onward call no longer.
template <typename Request, typename Response>
class BothPumps final : public grpc::ClientBidiReactor<Request, Response> {
 public:
  BothPumps(OnwardCall call, grpc::ServerBidiReactor<Request, Response>& client)
      : call_(std::move(call)), client_(client) {}

  const OnwardCall& call() const { return call_; }
  void Begin() {
    this->AddMultipleHolds(2);  // one for each direction
    this->StartCall();
    client_.StartRead(&request_);
  }
  void HasRead(bool ok) {
    if (!Goes(ok ? Requests::kToOnward : Requests::kOver)) return;
    if (ok) return this->StartWrite(&request_);
    if (call_.from().IsCancelled()) call_.context()->TryCancel();  // as of a client's stream
    this->StartWritesDone();
    this->RemoveHold();
  }
  void HasWritten(bool ok) {
    if (!ok) call_.context()->TryCancel();
    this->StartRead(&response_);
  }

 private:
  enum class Requests : uint8_t { kFromClient, kToOnward, kOver };

  // False: they are over.
  bool Goes(Requests next) {
    std::lock_guard lock(mutex_);
    if (requests_ == Requests::kOver) return false;
    requests_ = next == Requests::kFromClient && answered_ ? Requests::kOver : next;
    return requests_ == next;
  }

  void OnWriteDone(bool ok) override {
    if (ok && Goes(Requests::kFromClient)) return client_.StartRead(&request_);
    if (!ok) Goes(Requests::kOver);
    this->RemoveHold();
  }
  void OnReadInitialMetadataDone(bool) override {
    call_.PassInitialMetadata();
    this->StartRead(&response_);
  }
  void OnReadDone(bool ok) override {
    if (ok) return client_.StartWrite(&response_);
    bool waits_for_client = false;
    {
      std::lock_guard lock(mutex_);
      answered_ = true;
      waits_for_client = requests_ == Requests::kFromClient;
      if (waits_for_client) requests_ = Requests::kOver;
    }
    if (waits_for_client) this->RemoveHold();
    this->RemoveHold();
  }
  void OnDone(const grpc::Status& status) override {
    call_.PassTrailingMetadata();
    client_.Finish(status);
  }

  const OnwardCall call_;
  grpc::ServerBidiReactor<Request, Response>& client_;
  Request request_;
  Response response_;
  std::mutex mutex_;
  Requests requests_ = Requests::kFromClient;
  bool answered_ = false;  // to the end
};

}  // namespace shardmanager::server_internal
