// The same service in gRPC's callback API (kvstore --callback). The database blocks, and gRPC's
// threads must not: the work is done on threads of the service.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "answers.h"
#include "kv.grpc.pb.h"
#include "shardmanager/server.h"

namespace kvstore {

// Does tasks in their order, several at a time. Thread-safe.
class TaskThreads {
 public:
  explicit TaskThreads(int threads);
  ~TaskThreads();  // after the last task
  void Run(std::function<void()> task);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

class CallbackKvService final : public kv::KeyValue::CallbackService {
 public:
  CallbackKvService(shardmanager::Server& server, Store& store, const std::string& name)
      : server_(server), answers_(store, name) {}

 private:
  using Async = class kv::KeyValue::Stub::async;

  template <typename Request, typename Response>
  auto Work(const Request* request, Response* response) {
    return [=, this](const shardmanager::AdmittedCall& call) {
      threads_.Run([=, this] { call.Finish(answers_.To(call, *request, *response)); });
    };
  }

  grpc::ServerUnaryReactor* Put(grpc::CallbackServerContext* context, const kv::PutRequest* request,
                                kv::PutResponse* response) override {
    return server_.Admit<kv::KeyValue>(*context, &Async::Put, request, response,
                                       Work(request, response));
  }
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const kv::GetRequest* request,
                                kv::GetResponse* response) override {
    return server_.Admit<kv::KeyValue>(*context, &Async::Get, request, response,
                                       Work(request, response));
  }
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context,
                                   const kv::DeleteRequest* request,
                                   kv::DeleteResponse* response) override {
    return server_.Admit<kv::KeyValue>(*context, &Async::Delete, request, response,
                                       Work(request, response));
  }

  grpc::ServerUnaryReactor* Scan(grpc::CallbackServerContext* context,
                                 const kv::ScanRequest* request,
                                 kv::ScanResponse* response) override {
    return server_.Admit<kv::KeyValue>(*context, &Async::Scan, request, response,
                                       Work(request, response));
  }

  class EachPut;
  grpc::ServerBidiReactor<kv::PutEachRequest, kv::PutEachResponse>* PutEach(
      grpc::CallbackServerContext* context) override;

  shardmanager::Server& server_;
  Answers answers_;
  TaskThreads threads_{8};  // the first to go
};

}  // namespace kvstore
