// The same service in gRPC's callback API (counter --callback).
#pragma once

#include <chrono>
#include <utility>

#include "counter.grpc.pb.h"
#include "counts.h"
#include "shardmanager/server.h"

class CallbackCounter final : public counter::Counter::CallbackService {
 public:
  CallbackCounter(shardmanager::Server& server, Counts& counts)
      : server_(server), counts_(counts) {}

 private:
  using Stub = counter::Counter::Stub;
  using Request = counter::AddRequest;
  using Response = counter::AddResponse;

  grpc::ServerUnaryReactor* Add(grpc::CallbackServerContext* context, const Request* request,
                                Response* response) override {
    return server_.Admit<counter::Counter>(*context, &Stub::async::Add, request, response,
                                           [=, this](const shardmanager::Admission& admission) {
                                             counts_.Add(admission, *request, *response);
                                             return grpc::Status::OK;
                                           });
  }

  grpc::ServerBidiReactor<Request, Response>* AddEach(
      grpc::CallbackServerContext* context) override {
    return server_.Admit<counter::Counter>(*context, &Stub::async::AddEach,
                                           [this](const shardmanager::Admission& admission) {
                                             return new Adder(*this, admission.shard());
                                           });
  }

  class Adder final : public grpc::ServerBidiReactor<Request, Response> {
   public:
    Adder(CallbackCounter& service, shardmanager::ShardId shard)
        : service_(service), shard_(std::move(shard)) {
      StartRead(&request_);
    }

   private:
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      // Of each message: a shard does not move while a stream of it is admitted.
      service_.server_.Admit(shard_, std::chrono::seconds(2),
                             [this](const shardmanager::Admission& admission) {
                               if (!admission.ok()) return Finish(admission.status());
                               service_.counts_.Add(admission, request_, response_);
                               StartWrite(&response_);
                             });
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      StartRead(&request_);
    }
    void OnDone() override { delete this; }

    CallbackCounter& service_;
    const shardmanager::ShardId shard_;
    Request request_;
    Response response_;
  };

  shardmanager::Server& server_;
  Counts& counts_;
};
