#include "tests/server/forwarding/counter_server.h"
#include "tests/server/forwarding/counters.h"

namespace shardmanager {
namespace {

using counter::Counter;

class BlockingCounter final : public Counter::Service {
 public:
  explicit BlockingCounter(CounterServer& at) : at_(at) {}

 private:
  using Context = grpc::ServerContext;
  using Request = counter::CountRequest;
  using Response = counter::CountResponse;

  grpc::Status Count(Context* context, const Request* request, Response* response) override {
    auto admission = at_.server().Admit(*context, &Counter::Stub::Count, request, response);
    if (!admission.ok()) return admission.status();
    return at_.Process(*context, admission.epoch(), request->number(), response);
  }

  grpc::Status CountUp(Context* context, const Request* request,
                       grpc::ServerWriter<Response>* writer) override {
    auto admission = at_.server().Admit(*context, &Counter::Stub::CountUp, request, writer);
    if (!admission.ok()) return admission.status();
    Response response;
    const grpc::Status status =
        at_.Process(*context, admission.epoch(), request->number(), &response);
    for (uint64_t number = 1; number <= request->number(); ++number) {
      response.set_number(number);
      writer->Write(response);
    }
    return status;
  }

  grpc::Status Sum(Context* context, grpc::ServerReader<Request>* reader,
                   Response* response) override {
    auto admission = at_.server().Admit(*context, &Counter::Stub::Sum, reader, response);
    if (!admission.ok()) return admission.status();
    uint64_t sum = 0;
    for (Request request; reader->Read(&request); at_.reading.Pass()) sum += request.number();
    return at_.Process(*context, admission.epoch(), sum, response);
  }

  grpc::Status CountEach(Context* context, grpc::ServerReader<Request>* reader,
                         Response* response) override {
    auto admission = at_.server().Admit(*context, &Counter::Stub::CountEach, reader, response);
    if (!admission.ok()) return admission.status();
    uint64_t count = 0;
    for (Request request; reader->Read(&request); at_.reading.Pass()) {
      at_.log().Add({admission.epoch().value(), request.number()});
      ++count;
    }
    response->set_number(count);
    return grpc::Status::OK;
  }

  grpc::Status Talk(Context* context,
                    grpc::ServerReaderWriter<Response, Request>* stream) override {
    auto admission = at_.server().Admit(*context, &Counter::Stub::Talk, stream);
    if (!admission.ok()) return admission.status();
    Response response;
    for (Request request; stream->Read(&request);) {
      if (request.number() == 0) return at_.Process(*context, admission.epoch(), 0, &response);
      at_.Fill(admission.epoch(), request.number(), &response);
      at_.log().Add({admission.epoch().value(), request.number()});
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

  grpc::Status List(Context* context, const Request* request,
                    grpc::ServerWriter<Response>* writer) override {
    auto admission = at_.server().Admit(*context, &Counter::Stub::List, request, writer);
    if (!admission.ok()) return admission.status();
    for (const CountLog::Entry& entry : at_.log().entries()) {
      Response response;
      at_.Fill(ShardEpoch(entry.epoch), entry.number, &response);
      if (!writer->Write(response)) break;
    }
    return grpc::Status::OK;
  }

  grpc::Status CountHere(Context* context, const Request* request, Response* response) override {
    auto admission = at_.server().Admit(*context);
    if (!admission.ok()) return admission.status();
    return at_.Process(*context, admission.epoch(), request->number(), response);
  }

  CounterServer& at_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewBlockingCounter(CounterServer& at) {
  return std::make_unique<BlockingCounter>(at);
}

}  // namespace shardmanager
