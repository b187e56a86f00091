// Calls of callback services that wait. Each has a Late... reactor: if it is admitted in the end,
// the application's work begins behind it (of a stream: the application's reactor takes its Seat);
// if it is sent on, onward_inl.h carries it to the new owner.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "shardmanager/onward_inl.h"
#include "shardmanager/server.h"

namespace shardmanager::server_internal {

// What `work` of the application comes to: OK, or INTERNAL with the exception that left it.
grpc::Status Contain(absl::FunctionRef<void()> work);

// Tells the router that the status is the application's, before the call ends with it.
void SayAdmitted(grpc::CallbackServerContext& context, const grpc::Status& status);

// What `make` makes; null: `failed` says why.
template <typename Reactor>
Reactor* MakeContained(const MakeReactor<Reactor>& make, Admission admission,
                       grpc::Status& failed) {
  Reactor* made = nullptr;
  failed = Contain([&] { made = make(std::move(admission)); });
  if (failed.ok() && made == nullptr) {
    failed = grpc::Status(grpc::StatusCode::INTERNAL, "there is no reactor");
  }
  return made;
}

// A request that is held.
class Wait {
 public:
  virtual ~Wait() = default;
  // Its client has gone. Does nothing if it is held no more.
  virtual void Cancel() = 0;
};

// A call that waits for what becomes of it. One of the three is called, once.
class Arrival {
 public:
  virtual ~Arrival() = default;
  virtual void Process(Admission admission) = 0;
  virtual void SendOn(OnwardCall call) = 0;
  virtual void End(const grpc::Status& status) = 0;
};

// ---- unary calls

template <typename Work>
void ProcessUnary(Admission admission, grpc::CallbackServerContext& context,
                  grpc::ServerUnaryReactor* reactor, Work& work) {
  if constexpr (std::is_invocable_r_v<grpc::Status, Work&, const Admission&>) {
    grpc::Status answer;
    const grpc::Status thrown = Contain([&] { answer = work(std::as_const(admission)); });
    if (!thrown.ok()) answer = thrown;
    admission.Ended(answer);
    static_cast<void>(Admission(std::move(admission)));  // the shard may go
    SayAdmitted(context, answer);
    reactor->Finish(answer);
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
  LateUnary(grpc::CallbackServerContext& context, Work work, Begin begin)
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

  grpc::CallbackServerContext& context_;
  Work work_;
  const Begin begin_;
  std::shared_ptr<Wait> wait_;
  std::optional<OnwardCall> onward_;
};

// ---- streams that are admitted after a wait: where the application's reactor sits

// What the three kinds have in common: `Call` is gRPC's side of a stream, which passes on to the
// late reactor what the application's reactor begins.
template <typename Call, typename ReactorOfCall>
class Seat : public Call {
 public:
  using Reactor = ReactorOfCall;
  explicit Seat(Reactor& outer) : outer_(outer) {}
  void Take(Reactor* inner) {
    inner_ = inner;
    this->BindReactor(inner);
  }
  void Finish(grpc::Status status) final { outer_.Finish(std::move(status)); }
  void SendInitialMetadata() final { outer_.StartSendInitialMetadata(); }

 protected:
  Reactor& outer() { return outer_; }

 private:
  grpc::internal::ServerReactor* reactor() final { return inner_; }
  void CallOnDone() final {}  // the late reactor does it

  Reactor& outer_;
  Reactor* inner_ = nullptr;
};

template <typename Response>
class WriterSeat final
    : public Seat<grpc::ServerCallbackWriter<Response>, grpc::ServerWriteReactor<Response>> {
 public:
  using WriterSeat::Seat::Seat;
  void Write(const Response* message, grpc::WriteOptions options) override {
    this->outer().StartWrite(message, options);
  }
  void WriteAndFinish(const Response* message, grpc::WriteOptions options,
                      grpc::Status status) override {
    this->outer().StartWriteAndFinish(message, options, std::move(status));
  }
};

template <typename Request>
class ReaderSeat final
    : public Seat<grpc::ServerCallbackReader<Request>, grpc::ServerReadReactor<Request>> {
 public:
  using ReaderSeat::Seat::Seat;
  void Read(Request* message) override { this->outer().StartRead(message); }
};

template <typename Request, typename Response>
class BidiSeat final : public Seat<grpc::ServerCallbackReaderWriter<Request, Response>,
                                   grpc::ServerBidiReactor<Request, Response>> {
 public:
  using BidiSeat::Seat::Seat;
  void Read(Request* message) override { this->outer().StartRead(message); }
  void Write(const Response* message, grpc::WriteOptions options) override {
    this->outer().StartWrite(message, options);
  }
  void WriteAndFinish(const Response* message, grpc::WriteOptions options,
                      grpc::Status status) override {
    this->outer().StartWriteAndFinish(message, options, std::move(status));
  }
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
    grpc::Status failed;
    Reactor* made = MakeContained(make_, std::move(admission), failed);
    if (made == nullptr) {
      this->Finish(failed);
      return Leave();
    }
    bool cancelled = false;
    {
      std::lock_guard lock(mutex_);
      inner_ = made;
      cancelled = cancelled_;
    }
    seat_.Take(made);
    if (cancelled) made->OnCancel();
    Leave();
  }
  void SendOn(OnwardCall call) override {
    pump_.emplace(std::move(call), *this);
    start_(pump_->call().stub(), pump_->call().context(), &*pump_);
    pump_->Begin();
  }
  void End(const grpc::Status& status) override { this->Finish(status); }

  void OnSendInitialMetadataDone(bool ok) final {
    if (inner_ != nullptr) inner_->OnSendInitialMetadataDone(ok);
  }
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
