#include "examples/localcluster/cluster_manager.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"
#include "wire/connection.h"
#include "wire/grpc_status.h"

namespace shardmanager::local {
namespace {

constexpr std::chrono::seconds kDeadline{5};
constexpr int kMostAnswerBytes = 64 << 20;

}  // namespace

ClusterManager::ClusterManager(ClusterManagerOptions options, ContainerPort containers)
    : options_(std::move(options)),
      containers_(std::move(containers)),
      life_(static_cast<uint64_t>(WallMilliseconds())) {
  Connect(options_.endpoint);
}

void ClusterManager::Connect(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostAnswerBytes);
  stub_ = v1::TaskControl::NewStub(wire::OpenChannel(endpoint, arguments));
}

void ClusterManager::Want(v1::OperationKind kind, const std::string& container,
                          const std::string& reason) {
  // Unique for good: the manager's life is part of it.
  const std::string id = absl::StrCat(life_, "-", ++operations_, "/", container);
  v1::ContainerOperation& operation = wanted_[id].operation;
  operation.set_id(id);
  operation.set_kind(kind);
  operation.set_server(container);
  operation.set_container(container);
  operation.set_reason(reason);
  operation.set_stage(v1::OPERATION_WAITING);
}

void ClusterManager::Restart(const std::string& container, const std::string& reason,
                             std::chrono::milliseconds expected) {
  Want(v1::RESTART, container, reason);
  for (auto& [id, wanted] : wanted_) {
    if (wanted.operation.container() != container) continue;
    wanted.operation.set_expected_ms(static_cast<uint32_t>(expected.count()));
  }
}

void ClusterManager::Stop(const std::string& container, const std::string& reason) {
  Want(v1::STOP, container, reason);
}

absl::StatusOr<std::chrono::milliseconds> ClusterManager::Round() {
  bool again = true;
  std::chrono::milliseconds wait{0};
  while (again) {
    absl::StatusOr<v1::ReportResponse> response = Report();
    if (!response.ok()) return response.status();
    wait = std::chrono::milliseconds(response->report_again_ms());
    again = false;
    std::vector<std::string> go;
    for (const v1::OperationAnswer& answer : response->answers()) again |= Hear(answer, go);
    if (go.empty()) continue;
    if (absl::Status acted = Act(go); !acted.ok()) return acted;
    again = true;  // they are finished
  }
  return wait;
}

absl::StatusOr<v1::ReportResponse> ClusterManager::Report() {
  v1::ReportRequest request;
  request.set_app(options_.app);
  request.set_manager(options_.name);
  request.set_manager_life(life_);
  request.set_sequence(++sequence_);
  for (const auto& [id, wanted] : wanted_) *request.add_operations() = wanted.operation;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  v1::ReportResponse response;
  const grpc::Status status = stub_->Report(&context, request, &response);
  if (status.ok()) return response;
  // A process that stands by names the one that leads.
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto leader = trailing.find(request_metadata::kLeader);
  const bool redirected = leader != trailing.end() && !leader->second.empty();
  Connect(redirected ? std::string(leader->second.data(), leader->second.size())
                     : options_.endpoint);
  if (redirected) return absl::UnavailableError("another process leads");
  return wire::FromGrpc(status);
}

bool ClusterManager::Hear(const v1::OperationAnswer& answer, std::vector<std::string>& go) {
  const auto found = wanted_.find(answer.id());
  if (found == wanted_.end()) return false;
  v1::ContainerOperation& operation = found->second.operation;
  found->second.delay = answer.delays().empty() ? "" : answer.delays(0).message();
  switch (answer.verdict()) {
    case v1::OPERATION_DELAYED:
      operation.set_stage(v1::OPERATION_WAITING);
      // The container's life, as the control plane numbers it: only if it is the same process.
      if (operation.incarnation() == answer.incarnation() || answer.process().empty() ||
          !containers_.is_process(operation.container(), answer.process())) {
        return false;
      }
      operation.set_incarnation(answer.incarnation());
      return true;
    case v1::OPERATION_APPROVED:
      operation.set_stage(v1::OPERATION_BEGIN);
      return true;
    case v1::OPERATION_GO:
      go.push_back(answer.id());
      return false;
    case v1::OPERATION_REFUSED: {
      // It was about a life that is over. The container is still to be restarted: as a new
      // operation.
      const v1::ContainerOperation old = operation;
      wanted_.erase(found);
      Want(old.kind(), old.container(), old.reason());
      return true;
    }
    case v1::OPERATION_DONE:
      wanted_.erase(found);
      return false;
    default:
      return false;
  }
}

// All of them at once: that is what was approved.
absl::Status ClusterManager::Act(const std::vector<std::string>& ids) {
  std::vector<std::thread> stopping;
  for (const std::string& id : ids) {
    stopping.emplace_back(
        [this, container = wanted_.at(id).operation.container()] { containers_.stop(container); });
  }
  for (std::thread& thread : stopping) thread.join();
  for (const std::string& id : ids) {
    v1::ContainerOperation& operation = wanted_.at(id).operation;
    if (operation.kind() != v1::STOP) {
      if (absl::Status started = containers_.start(operation.container()); !started.ok()) {
        return started;
      }
    }
    operation.set_stage(v1::OPERATION_FINISHED);
  }
  return absl::OkStatus();
}

size_t ClusterManager::waiting() const {
  return static_cast<size_t>(std::count_if(wanted_.begin(), wanted_.end(), [](const auto& entry) {
    return entry.second.operation.stage() != v1::OPERATION_FINISHED;
  }));
}

std::map<std::string, std::string> ClusterManager::delays() const {
  std::map<std::string, std::string> delays;
  for (const auto& [id, wanted] : wanted_) delays[wanted.operation.container()] = wanted.delay;
  return delays;
}

}  // namespace shardmanager::local
