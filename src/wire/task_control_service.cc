#include "wire/task_control_service.h"

#include <grpcpp/grpcpp.h>

#include "shardmanager/v1/task_control.grpc.pb.h"
#include "wire/controller_calls.h"

namespace shardmanager::wire {

class TaskControlService::Impl final : public v1::TaskControl::Service {
 public:
  explicit Impl(orchestrator::Controller& controller) : calls_(controller, "Report again") {}

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

TaskControlService::TaskControlService(orchestrator::Controller& controller)
    : impl_(std::make_unique<Impl>(controller)) {}
TaskControlService::~TaskControlService() = default;

grpc::Service* TaskControlService::service() { return impl_.get(); }

}  // namespace shardmanager::wire
