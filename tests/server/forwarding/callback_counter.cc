#include <deque>
#include <functional>
#include <utility>

#include "server/handler_pool.h"
#include "tests/server/forwarding/counter_server.h"
#include "tests/server/forwarding/counters.h"

namespace shardmanager {
namespace {

using counter::Counter;
using Context = grpc::CallbackServerContext;
using Request = counter::CountRequest;
using Response = counter::CountResponse;

// What may block runs here, not on gRPC's threads.
using Elsewhere = std::function<void(std::function<void()> task)>;

// One response after the other, then the status.
class Writer final : public grpc::ServerWriteReactor<Response> {
 public:
  Writer(Admission admission, std::deque<Response> responses, grpc::Status status)
      : admission_(std::move(admission)),
        responses_(std::move(responses)),
        status_(std::move(status)) {
    Next();
  }

 private:
  void Next() {
    if (responses_.empty()) return Finish(status_);
    StartWrite(&responses_.front());
  }
  void OnWriteDone(bool ok) override {
    responses_.pop_front();
    if (!ok) responses_.clear();
    Next();
  }
  void OnDone() override { delete this; }

  const Admission admission_;
  std::deque<Response> responses_;
  const grpc::Status status_;
};

// Calls `each` with each message, then `end`, which finishes the stream.
class Reader final : public grpc::ServerReadReactor<Request> {
 public:
  using Each = std::function<void(const Request& request)>;
  using End = std::function<grpc::Status()>;
  Reader(Admission admission, Elsewhere elsewhere, Each each, End end)
      : admission_(std::move(admission)),
        elsewhere_(std::move(elsewhere)),
        each_(std::move(each)),
        end_(std::move(end)) {
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return elsewhere_([this] { Finish(end_()); });
    each_(request_);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

  const Admission admission_;
  const Elsewhere elsewhere_;
  const Each each_;
  const End end_;
  Request request_;
};

class Talker final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  Talker(CounterServer& at, Context& context, Admission admission, Elsewhere elsewhere)
      : at_(at),
        context_(context),
        admission_(std::move(admission)),
        elsewhere_(std::move(elsewhere)) {
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    const ShardEpoch epoch = admission_.epoch();
    if (request_.number() == 0) {
      return elsewhere_([this, epoch] { Finish(at_.Process(context_, epoch, 0, &response_)); });
    }
    at_.Fill(epoch, request_.number(), &response_);
    at_.log().Add({epoch.value(), request_.number()});
    StartWrite(&response_);
  }
  void OnWriteDone(bool) override { StartRead(&request_); }
  void OnDone() override { delete this; }

  CounterServer& at_;
  Context& context_;
  const Admission admission_;
  const Elsewhere elsewhere_;
  Request request_;
  Response response_;
};

class CallbackCounter final : public Counter::CallbackService {
 public:
  explicit CallbackCounter(CounterServer& at) : at_(at) {}

 private:
  grpc::ServerUnaryReactor* Count(Context* context, const Request* request,
                                  Response* response) override {
    return at_.server().Admit<Counter>(
        *context, &Counter::Stub::async::Count, request, response,
        [=, this](const AdmittedCall& call) {
          elsewhere_([=, this] {
            call.Finish(at_.Process(*context, call.epoch(), request->number(), response));
          });
        });
  }

  grpc::ServerWriteReactor<Response>* CountUp(Context* context, const Request* request) override {
    return at_.server().Admit<Counter>(
        *context, &Counter::Stub::async::CountUp, request, [=, this](Admission admission) {
          std::deque<Response> responses;
          Response response;
          const grpc::Status status =
              at_.Process(*context, admission.epoch(), request->number(), &response);
          for (uint64_t number = 1; number <= request->number(); ++number) {
            response.set_number(number);
            responses.push_back(response);
          }
          return new Writer(std::move(admission), std::move(responses), status);
        });
  }

  grpc::ServerReadReactor<Request>* Sum(Context* context, Response* response) override {
    return at_.server().Admit<Counter>(
        *context, &Counter::Stub::async::Sum, response, [=, this](Admission admission) {
          const auto sum = std::make_shared<uint64_t>(0);
          const ShardEpoch epoch = admission.epoch();
          return new Reader(
              std::move(admission), elsewhere_,
              [this, sum](const Request& request) {
                *sum += request.number();
                at_.reading.Pass();
              },
              [=, this] { return at_.Process(*context, epoch, *sum, response); });
        });
  }

  grpc::ServerReadReactor<Request>* CountEach(Context* context, Response* response) override {
    return at_.server().Admit<Counter>(*context, &Counter::Stub::async::CountEach, response,
                                       [=, this](Admission admission) {
                                         const uint64_t epoch = admission.epoch().value();
                                         return new Reader(
                                             std::move(admission), elsewhere_,
                                             [=, this](const Request& request) {
                                               at_.log().Add({epoch, request.number()});
                                               response->set_number(response->number() + 1);
                                               at_.reading.Pass();
                                             },
                                             [] { return grpc::Status::OK; });
                                       });
  }

  grpc::ServerBidiReactor<Request, Response>* Talk(Context* context) override {
    return at_.server().Admit<Counter>(
        *context, &Counter::Stub::async::Talk, [=, this](Admission admission) {
          return new Talker(at_, *context, std::move(admission), elsewhere_);
        });
  }

  grpc::ServerWriteReactor<Response>* List(Context* context, const Request* request) override {
    return at_.server().Admit<Counter>(
        *context, &Counter::Stub::async::List, request, [=, this](Admission admission) {
          std::deque<Response> responses;
          for (const CountLog::Entry& entry : at_.log().entries()) {
            at_.Fill(ShardEpoch(entry.epoch), entry.number, &responses.emplace_back());
          }
          return new Writer(std::move(admission), std::move(responses), grpc::Status::OK);
        });
  }

  grpc::ServerUnaryReactor* CountHere(Context* context, const Request* request,
                                      Response* response) override {
    return at_.server().Admit(*context, [=, this](const Admission& admission) {
      return at_.Process(*context, admission.epoch(), request->number(), response);
    });
  }

  CounterServer& at_;
  server::HandlerPool threads_{4};
  const Elsewhere elsewhere_ = [this](std::function<void()> task) {
    threads_.Run(std::move(task));
  };
};

}  // namespace

std::unique_ptr<grpc::Service> NewCallbackCounter(CounterServer& at) {
  return std::make_unique<CallbackCounter>(at);
}

}  // namespace shardmanager
