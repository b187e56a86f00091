// What a control plane of canned answers says of the past, and as it happens.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "shardmanager/v1/admin.grpc.pb.h"

namespace shardmanager::cli {

class FakeEvents : public v1::Admin::Service {
 public:
  // Of the first stream; each further one also has the next of `later_events`. Positions are of
  // leader epoch 7.
  std::vector<v1::ControlEvent> events;
  std::vector<v1::ControlEvent> later_events;
  v1::GetHistoryResponse history;

 protected:
  // The request is noted; why it is refused.
  virtual grpc::Status Answered(grpc::ServerContext* context, const std::string& name,
                                const google::protobuf::Message& request) = 0;

 private:
  grpc::Status GetHistory(grpc::ServerContext* context, const v1::GetHistoryRequest* request,
                          v1::GetHistoryResponse* response) override {
    const grpc::Status status = Answered(context, "GetHistory", *request);
    if (status.ok()) *response = history;
    return status;
  }
  grpc::Status WatchEvents(grpc::ServerContext* context, const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::ControlEvent>* writer) override {
    const size_t later = std::min<size_t>(streams_++, later_events.size());
    std::vector<v1::ControlEvent> all = events;
    all.insert(all.end(), later_events.begin(),
               later_events.begin() + static_cast<std::ptrdiff_t>(later));
    uint64_t sequence = 0;
    for (v1::ControlEvent& event : all) {
      event.mutable_position()->set_leader_epoch(7);
      event.mutable_position()->set_sequence(++sequence);
      if (sequence > request->after().sequence()) writer->Write(event);
    }
    return Answered(context, "WatchEvents", *request);
  }

  std::atomic<size_t> streams_{0};
};

}  // namespace shardmanager::cli
