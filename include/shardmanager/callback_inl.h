// The templates of server.h for services of gRPC's callback API, over its non-template core.
//
// A call that is admitted at once gets the reactor of the application, and nothing of this file
// stands between the two. A call that waits gets a Late... reactor. If it is admitted then, the
// application's reactor sits behind the late one (Seat); if it is sent on, a pump carries its
// messages to the new owner and back.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "shardmanager/server.h"

namespace shardmanager::server_internal {

// What `work` of the application comes to: OK, or INTERNAL with the exception that left it.
grpc::Status Contain(absl::FunctionRef<void()> work);

// A request that is held.
class Wait {
 public:
  virtual ~Wait() = default;
  // Its client has gone. Does nothing if it is held no more.
  virtual void Cancel() = 0;
};

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

// A call that waits for what becomes of it. One of the three is called, once.
class Arrival {
 public:
  virtual ~Arrival() = default;
  virtual void Process(Admission admission) = 0;
  virtual void SendOn(OnwardCall call) = 0;
  virtual void End(const grpc::Status& status) = 0;
};

// Ends a call with a status.
template <typename Reactor>
class EndedReactor final : public Reactor {
 public:
  explicit EndedReactor(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// ---- unary calls

template <typename Work>
void ProcessUnary(Admission admission, const grpc::CallbackServerContext& context,
                  grpc::ServerUnaryReactor* reactor, Work& work) {
  if constexpr (std::is_invocable_r_v<grpc::Status, Work&, const Admission&>) {
    grpc::Status answer;
    const grpc::Status thrown = Contain([&] { answer = work(std::as_const(admission)); });
    static_cast<void>(Admission(std::move(admission)));  // the shard may go
    reactor->Finish(thrown.ok() ? answer : thrown);
  } else {
    static_assert(std::is_invocable_v<Work&, const AdmittedCall&>,
                  "the work of a unary call takes an AdmittedCall, or an Admission and returns "
                  "a grpc::Status");
    const AdmittedCall call(std::move(admission), context, reactor);
    const grpc::Status thrown = Contain([&] { work(call); });
    if (!thrown.ok()) call.Finish(thrown);
  }
}

// `begin(stub, context, done)` begins the call to the new owner.
template <typename Work, typename Begin>
class LateUnary final : public grpc::ServerUnaryReactor, public Arrival {
 public:
  LateUnary(const grpc::CallbackServerContext& context, Work work, Begin begin)
      : context_(context), work_(std::move(work)), begin_(std::move(begin)) {}

  void AwaitWith(std::shared_ptr<Wait> wait) { wait_ = std::move(wait); }

 private:
  // The work may finish the call, and this goes with it: nothing of it is used afterwards.
  void Process(Admission admission) override {
    Work work = std::move(work_);
    ProcessUnary(std::move(admission), context_, this, work);
  }
  void SendOn(OnwardCall call) override {
    onward_.emplace(std::move(call));
    begin_(onward_->stub(), onward_->context(), [this](grpc::Status status) {
      onward_->PassInitialMetadata();
      onward_->PassTrailingMetadata();
      this->Finish(std::move(status));
    });
  }
  void End(const grpc::Status& status) override { this->Finish(status); }

  void OnCancel() override { wait_->Cancel(); }
  void OnDone() override { delete this; }

  const grpc::CallbackServerContext& context_;
  Work work_;
  const Begin begin_;
  std::shared_ptr<Wait> wait_;
  std::optional<OnwardCall> onward_;
};

// ---- streams that are sent on
//
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

// ---- streams that are admitted after a wait: where the application's reactor sits

template <typename Response>
class WriterSeat final : public grpc::ServerCallbackWriter<Response> {
 public:
  using Reactor = grpc::ServerWriteReactor<Response>;
  explicit WriterSeat(Reactor& outer) : outer_(outer) {}
  void Seat(Reactor* inner) {
    inner_ = inner;
    this->BindReactor(inner);
  }
  void Finish(grpc::Status status) override { outer_.Finish(std::move(status)); }
  void SendInitialMetadata() override { outer_.StartSendInitialMetadata(); }
  void Write(const Response* message, grpc::WriteOptions options) override {
    outer_.StartWrite(message, options);
  }
  void WriteAndFinish(const Response* message, grpc::WriteOptions options,
                      grpc::Status status) override {
    outer_.StartWriteAndFinish(message, options, std::move(status));
  }

 private:
  grpc::internal::ServerReactor* reactor() override { return inner_; }
  void CallOnDone() override {}  // the late reactor does it

  Reactor& outer_;
  Reactor* inner_ = nullptr;
};

template <typename Request>
class ReaderSeat final : public grpc::ServerCallbackReader<Request> {
 public:
  using Reactor = grpc::ServerReadReactor<Request>;
  explicit ReaderSeat(Reactor& outer) : outer_(outer) {}
  void Seat(Reactor* inner) {
    inner_ = inner;
    this->BindReactor(inner);
  }
  void Finish(grpc::Status status) override { outer_.Finish(std::move(status)); }
  void SendInitialMetadata() override { outer_.StartSendInitialMetadata(); }
  void Read(Request* message) override { outer_.StartRead(message); }

 private:
  grpc::internal::ServerReactor* reactor() override { return inner_; }
  void CallOnDone() override {}

  Reactor& outer_;
  Reactor* inner_ = nullptr;
};

template <typename Request, typename Response>
class BidiSeat final : public grpc::ServerCallbackReaderWriter<Request, Response> {
 public:
  using Reactor = grpc::ServerBidiReactor<Request, Response>;
  explicit BidiSeat(Reactor& outer) : outer_(outer) {}
  void Seat(Reactor* inner) {
    inner_ = inner;
    this->BindReactor(inner);
  }
  void Finish(grpc::Status status) override { outer_.Finish(std::move(status)); }
  void SendInitialMetadata() override { outer_.StartSendInitialMetadata(); }
  void Read(Request* message) override { outer_.StartRead(message); }
  void Write(const Response* message, grpc::WriteOptions options) override {
    outer_.StartWrite(message, options);
  }
  void WriteAndFinish(const Response* message, grpc::WriteOptions options,
                      grpc::Status status) override {
    outer_.StartWriteAndFinish(message, options, std::move(status));
  }

 private:
  grpc::internal::ServerReactor* reactor() override { return inner_; }
  void CallOnDone() override {}

  Reactor& outer_;
  Reactor* inner_ = nullptr;
};

// ---- streams that wait

// What the three kinds have in common. `Pump` and `SeatOf` are those of above; `start(stub,
// context, pump)` makes the pump that of a call to the new owner.
template <typename Reactor, typename SeatOf, typename Pump>
class LateStream : public Reactor, public Arrival {
 public:
  using Start = std::function<void(void* stub, grpc::ClientContext* context, Pump* pump)>;
  LateStream(MakeReactor<Reactor> make, Start start)
      : make_(std::move(make)), start_(std::move(start)) {}

  void AwaitWith(std::shared_ptr<Wait> wait) { wait_ = std::move(wait); }

 protected:
  // Who gets gRPC's reactions: the one or the other is not null.
  Reactor* inner() const { return inner_; }
  Pump& pump() { return *pump_; }

 private:
  void Process(Admission admission) override {
    ++users_;  // gRPC may be done before this returns
    Reactor* made = nullptr;
    const grpc::Status thrown = Contain([&] { made = make_(std::move(admission)); });
    if (made == nullptr) {
      this->Finish(thrown.ok() ? grpc::Status(grpc::StatusCode::INTERNAL, "there is no reactor")
                               : thrown);
      return Leave();
    }
    bool cancelled = false;
    {
      std::lock_guard lock(mutex_);
      inner_ = made;
      cancelled = cancelled_;
    }
    seat_.Seat(made);
    if (cancelled) made->OnCancel();
    Leave();
  }
  void SendOn(OnwardCall call) override {
    pump_.emplace(std::move(call), *this);
    start_(pump_->call().stub(), pump_->call().context(), &*pump_);
    pump_->Begin();
  }
  void End(const grpc::Status& status) override { this->Finish(status); }

  // What is sent on is cancelled by gRPC: it is a child of this call.
  void OnCancel() final {
    Reactor* inner = nullptr;
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      inner = inner_;
    }
    if (inner != nullptr) return inner->OnCancel();
    wait_->Cancel();
  }
  void OnDone() final { Leave(); }
  void Leave() {
    if (--users_ > 0) return;
    if (inner_ != nullptr) inner_->OnDone();
    delete this;
  }

  const MakeReactor<Reactor> make_;
  const Start start_;
  std::shared_ptr<Wait> wait_;
  SeatOf seat_{*this};
  std::optional<Pump> pump_;
  std::mutex mutex_;
  Reactor* inner_ = nullptr;  // written under the mutex, before anything is begun for it
  bool cancelled_ = false;
  std::atomic<int> users_{1};  // gRPC, and Process()
};

template <typename Response>
class LateWriter final : public LateStream<grpc::ServerWriteReactor<Response>, WriterSeat<Response>,
                                           AnswersPump<Response>> {
 public:
  using LateWriter::LateStream::LateStream;

 private:
  void OnSendInitialMetadataDone(bool ok) override {
    if (this->inner() != nullptr) this->inner()->OnSendInitialMetadataDone(ok);
  }
  void OnWriteDone(bool ok) override {
    if (this->inner() != nullptr) return this->inner()->OnWriteDone(ok);
    this->pump().HasWritten(ok);
  }
};

template <typename Request>
class LateReader final : public LateStream<grpc::ServerReadReactor<Request>, ReaderSeat<Request>,
                                           RequestsPump<Request>> {
 public:
  using LateReader::LateStream::LateStream;

 private:
  void OnSendInitialMetadataDone(bool ok) override {
    if (this->inner() != nullptr) this->inner()->OnSendInitialMetadataDone(ok);
  }
  void OnReadDone(bool ok) override {
    if (this->inner() != nullptr) return this->inner()->OnReadDone(ok);
    this->pump().HasRead(ok);
  }
};

template <typename Request, typename Response>
class LateBidi final
    : public LateStream<grpc::ServerBidiReactor<Request, Response>, BidiSeat<Request, Response>,
                        BothPumps<Request, Response>> {
 public:
  using LateBidi::LateStream::LateStream;

 private:
  void OnSendInitialMetadataDone(bool ok) override {
    if (this->inner() != nullptr) this->inner()->OnSendInitialMetadataDone(ok);
  }
  void OnReadDone(bool ok) override {
    if (this->inner() != nullptr) return this->inner()->OnReadDone(ok);
    this->pump().HasRead(ok);
  }
  void OnWriteDone(bool ok) override {
    if (this->inner() != nullptr) return this->inner()->OnWriteDone(ok);
    this->pump().HasWritten(ok);
  }
};

}  // namespace shardmanager::server_internal

namespace shardmanager {

template <typename Work, typename Begin>
grpc::ServerUnaryReactor* Server::AdmitUnary(grpc::CallbackServerContext& context,
                                             sdk_internal::StubFactory make_stub, Work work,
                                             Begin begin) {
  if (std::optional<Admission> admission = AdmitAtOnce(context)) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    if (!admission->ok()) {
      reactor->Finish(admission->status());
    } else {
      server_internal::ProcessUnary(*std::move(admission), context, reactor, work);
    }
    return reactor;
  }
  auto* late =
      new server_internal::LateUnary<Work, Begin>(context, std::move(work), std::move(begin));
  late->AwaitWith(AdmitLater(context, make_stub, *late));
  return late;
}

template <typename Service, typename Request, typename Response, typename Work>
grpc::ServerUnaryReactor* Server::Admit(grpc::CallbackServerContext& context,
                                        UnaryMethodOf<Service, Request, Response> method,
                                        const Request* request, Response* response, Work work) {
  using Stub = typename Service::Stub;
  return AdmitUnary(context, &sdk_internal::MakeStub<Stub>, std::move(work),
                    [=](void* stub, grpc::ClientContext* call, auto done) {
                      (static_cast<Stub*>(stub)->async()->*method)(call, request, response,
                                                                   std::move(done));
                    });
}

template <typename Work>
grpc::ServerUnaryReactor* Server::Admit(grpc::CallbackServerContext& context, Work work) {
  return AdmitUnary(context, nullptr, std::move(work), [](void*, grpc::ClientContext*, auto) {});
}

template <typename Late, typename Reactor>
Reactor* Server::AdmitStream(grpc::CallbackServerContext& context,
                             sdk_internal::StubFactory make_stub, MakeReactor<Reactor> make,
                             typename Late::Start start) {
  using Ended = server_internal::EndedReactor<Reactor>;
  if (std::optional<Admission> admission = AdmitAtOnce(context)) {
    if (!admission->ok()) return new Ended(admission->status());
    Reactor* reactor = nullptr;
    const grpc::Status thrown =
        server_internal::Contain([&] { reactor = make(*std::move(admission)); });
    if (reactor != nullptr) return reactor;
    return new Ended(thrown.ok() ? grpc::Status(grpc::StatusCode::INTERNAL, "there is no reactor")
                                 : thrown);
  }
  auto* late = new Late(std::move(make), std::move(start));
  late->AwaitWith(AdmitLater(context, make_stub, *late));
  return late;
}

template <typename Service, typename Request, typename Response>
grpc::ServerWriteReactor<Response>* Server::Admit(
    grpc::CallbackServerContext& context, ServerStreamOf<Service, Request, Response> method,
    const Request* request,
    std::type_identity_t<MakeReactor<grpc::ServerWriteReactor<Response>>> make) {
  using Stub = typename Service::Stub;
  return AdmitStream<server_internal::LateWriter<Response>>(
      context, &sdk_internal::MakeStub<Stub>, std::move(make),
      [=](void* stub, grpc::ClientContext* call, auto* pump) {
        (static_cast<Stub*>(stub)->async()->*method)(call, request, pump);
      });
}

template <typename Service, typename Request, typename Response>
grpc::ServerReadReactor<Request>* Server::Admit(
    grpc::CallbackServerContext& context, ClientStreamOf<Service, Request, Response> method,
    Response* response, std::type_identity_t<MakeReactor<grpc::ServerReadReactor<Request>>> make) {
  using Stub = typename Service::Stub;
  return AdmitStream<server_internal::LateReader<Request>>(
      context, &sdk_internal::MakeStub<Stub>, std::move(make),
      [=](void* stub, grpc::ClientContext* call, auto* pump) {
        (static_cast<Stub*>(stub)->async()->*method)(call, response, pump);
      });
}

template <typename Service, typename Request, typename Response>
grpc::ServerBidiReactor<Request, Response>* Server::Admit(
    grpc::CallbackServerContext& context, BidiStreamOf<Service, Request, Response> method,
    std::type_identity_t<MakeReactor<grpc::ServerBidiReactor<Request, Response>>> make) {
  using Stub = typename Service::Stub;
  return AdmitStream<server_internal::LateBidi<Request, Response>>(
      context, &sdk_internal::MakeStub<Stub>, std::move(make),
      [=](void* stub, grpc::ClientContext* call, auto* pump) {
        (static_cast<Stub*>(stub)->async()->*method)(call, pump);
      });
}

}  // namespace shardmanager
