#include "tests/server/counter_server.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardmanager {

using counter::Counter;

namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

void Turnstile::Close() {
  std::lock_guard lock(mutex_);
  open_ = false;
  arrived_ = false;
}

void Turnstile::Open() {
  std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void Turnstile::Pass() {
  std::unique_lock lock(mutex_);
  arrived_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return open_; });
}

void Turnstile::AwaitArrival() {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return arrived_; }));
}

void CountLog::Add(const Entry& entry) {
  std::lock_guard lock(mutex_);
  entries_.push_back(entry);
  changed_.notify_all();
}

std::vector<CountLog::Entry> CountLog::entries() const {
  std::lock_guard lock(mutex_);
  return entries_;
}

size_t CountLog::CountOf(uint64_t epoch) const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(),
                                           [&](const Entry& e) { return e.epoch == epoch; }));
}

void CountLog::AwaitMoreOf(uint64_t epoch, size_t count) {
  std::unique_lock lock(mutex_);
  const size_t enough = CountOf(epoch) + count;
  EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return CountOf(epoch) >= enough; }));
}

CounterServer::CounterServer(const ServerOptions& options, CountLog& log)
    : name_(options.name), log_(log), server_(options) {
  EXPECT_TRUE(server_.Start(*this, {this}).ok());
  commander_ = std::make_unique<Commander>(server_.endpoint(), name_, 1);
  stub_ =
      Counter::NewStub(grpc::CreateChannel(server_.endpoint(), grpc::InsecureChannelCredentials()));
  EXPECT_TRUE(commander_->Add("first", 1).ok());
  EXPECT_TRUE(Eventually([this] { return server_.Admit(ShardId("first")).ok(); }));
}

CounterServer::~CounterServer() {
  for (Turnstile* turnstile : {&adding, &dropping, &reading}) turnstile->Open();
  server_.Shutdown();
}

absl::Status CounterServer::AddShard(const ShardGrant&, const LoadProgress&) {
  adding.Pass();
  return absl::OkStatus();
}

absl::Status CounterServer::DropShard(const ShardId&) {
  dropping.Pass();
  return absl::OkStatus();
}

grpc::Status CounterServer::Process(Context& context, const Admission& admission, uint64_t number,
                                    Response* response) {
  response->set_server(name_);
  response->set_epoch(admission.epoch().value());
  response->set_number(number);
  if (process) return process(context);
  log_.Add({admission.epoch().value(), number});
  return grpc::Status::OK;
}

grpc::Status CounterServer::Count(Context* context, const Request* request, Response* response) {
  auto admission = server_.Admit(*context, &Counter::Stub::Count, request, response);
  if (!admission.ok()) return admission.status();
  return Process(*context, admission, request->number(), response);
}

grpc::Status CounterServer::CountUp(Context* context, const Request* request,
                                    grpc::ServerWriter<Response>* writer) {
  auto admission = server_.Admit(*context, &Counter::Stub::CountUp, request, writer);
  if (!admission.ok()) return admission.status();
  Response response;
  const grpc::Status status = Process(*context, admission, request->number(), &response);
  for (uint64_t number = 1; number <= request->number(); ++number) {
    response.set_number(number);
    writer->Write(response);
  }
  return status;
}

grpc::Status CounterServer::Sum(Context* context, grpc::ServerReader<Request>* reader,
                                Response* response) {
  auto admission = server_.Admit(*context, &Counter::Stub::Sum, reader, response);
  if (!admission.ok()) return admission.status();
  uint64_t sum = 0;
  for (Request request; reader->Read(&request); reading.Pass()) sum += request.number();
  return Process(*context, admission, sum, response);
}

grpc::Status CounterServer::CountEach(Context* context, grpc::ServerReader<Request>* reader,
                                      Response* response) {
  auto admission = server_.Admit(*context, &Counter::Stub::CountEach, reader, response);
  if (!admission.ok()) return admission.status();
  uint64_t count = 0;
  for (Request request; reader->Read(&request); reading.Pass()) {
    log_.Add({admission.epoch().value(), request.number()});
    ++count;
  }
  response->set_number(count);
  return grpc::Status::OK;
}

grpc::Status CounterServer::Talk(Context* context,
                                 grpc::ServerReaderWriter<Response, Request>* stream) {
  auto admission = server_.Admit(*context, &Counter::Stub::Talk, stream);
  if (!admission.ok()) return admission.status();
  Response response;
  for (Request request; stream->Read(&request);) {
    if (request.number() == 0) return Process(*context, admission, 0, &response);
    response.set_server(name_);
    response.set_epoch(admission.epoch().value());
    response.set_number(request.number());
    log_.Add({admission.epoch().value(), request.number()});
    stream->Write(response);
  }
  return grpc::Status::OK;
}

grpc::Status CounterServer::List(Context* context, const Request* request,
                                 grpc::ServerWriter<Response>* writer) {
  auto admission = server_.Admit(*context, &Counter::Stub::List, request, writer);
  if (!admission.ok()) return admission.status();
  for (const CountLog::Entry& entry : log_.entries()) {
    Response response;
    response.set_number(entry.number);
    response.set_epoch(entry.epoch);
    if (!writer->Write(response)) break;
  }
  return grpc::Status::OK;
}

grpc::Status CounterServer::CountHere(Context* context, const Request* request,
                                      Response* response) {
  auto admission = server_.Admit(*context);
  if (!admission.ok()) return admission.status();
  return Process(*context, admission, request->number(), response);
}

}  // namespace shardmanager
