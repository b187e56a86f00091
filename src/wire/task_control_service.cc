#include "wire/task_control_service.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "shardmanager/v1/task_control.grpc.pb.h"
#include "wire/controller_calls.h"

namespace shardmanager::wire {

class TaskControlService::Impl final : public v1::TaskControl::Service {
 public:
  // Managers report every few seconds: what comes of it are events, not the reports.
  Impl(orchestrator::Controller& controller, Gate gate)
      : calls_({.controller = controller,
                .gate = std::move(gate),
                .advice = "Report again",
                .record = false}) {}

  grpc::Status Report(grpc::ServerContext* context, const v1::ReportRequest* request,
                      v1::ReportResponse* response) override {
    return calls_.Change(context, request, response, &orchestrator::Operations::Report);
  }

  grpc::Status SupplyMap(grpc::ServerContext* context, const v1::SupplyMapRequest* request,
                         v1::SupplyMapResponse* response) override {
    return calls_.Ask(context, request, response, &orchestrator::Operations::SupplyMap);
  }

 private:
  ControllerCalls calls_;
};

TaskControlService::TaskControlService(orchestrator::Controller& controller, Gate gate)
    : impl_(std::make_unique<Impl>(controller, std::move(gate))) {}
TaskControlService::~TaskControlService() = default;

grpc::Service* TaskControlService::service() { return impl_.get(); }

}  // namespace shardmanager::wire
