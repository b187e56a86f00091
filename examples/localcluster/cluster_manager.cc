#include "examples/localcluster/cluster_manager.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"
#include "wire/connection.h"
#include "wire/grpc_status.h"

namespace shardmanager::local {
namespace {

constexpr std::chrono::seconds kDeadline{2};
constexpr int kMostAnswerBytes = 64 << 20;
// After an error.
constexpr Duration kAgain = Milliseconds(500);
// What one report changes is reported at once: WAITING, its life, BEGIN, and the same for a new
// life.
constexpr int kMostRounds = 8;
constexpr size_t kMostNamed = 8;

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

absl::Status ClusterManager::Want(v1::OperationKind kind, const std::string& container,
                                  const std::string& reason, std::chrono::milliseconds expected) {
  for (const auto& [id, wanted] : wanted_) {
    const v1::ContainerOperation& other = wanted.operation;
    if (other.container() == container && other.kind() == kind && !wanted.begun) {
      return absl::AlreadyExistsError(absl::StrCat(container, ": operation ", id, " is pending"));
    }
  }
  v1::ContainerOperation operation;
  operation.set_kind(kind);
  operation.set_server(container);
  operation.set_container(container);
  operation.set_reason(reason);
  if (kind != v1::STOP) operation.set_expected_ms(static_cast<uint32_t>(expected.count()));
  // Unique for good: the manager's life is part of it.
  Add(std::move(operation), absl::StrCat(life_, "-", rollouts_));
  return absl::OkStatus();
}

void ClusterManager::Add(v1::ContainerOperation operation, const std::string& rollout) {
  operation.set_id(absl::StrCat(rollout, "/", operation.container(), ".", ++operations_));
  operation.set_stage(v1::OPERATION_WAITING);
  next_report_ = {};
  const std::string id = operation.id();
  wanted_[id].operation = std::move(operation);
}

absl::Status ClusterManager::Tick() {
  if (!FinishWhatIsDone() && MonotonicNow() < next_report_) return absl::OkStatus();
  for (int round = 0; round < kMostRounds; ++round) {
    const absl::StatusOr<bool> again = Round();
    if (!again.ok()) {
      next_report_ = MonotonicNow() + kAgain;
      return again.status();
    }
    if (!*again) break;
  }
  TellDelays();
  return absl::OkStatus();
}

bool ClusterManager::FinishWhatIsDone() {
  bool changed = false;
  for (auto& [id, wanted] : wanted_) {
    v1::ContainerOperation& operation = wanted.operation;
    if (!wanted.begun || operation.stage() == v1::OPERATION_FINISHED) continue;
    if (!containers_.done(operation.container())) continue;
    operation.set_stage(v1::OPERATION_FINISHED);
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> ClusterManager::Round() {
  const absl::StatusOr<v1::ReportResponse> response = Report();
  if (!response.ok()) return response.status();
  ++answered_;
  Duration wait = Milliseconds(response->report_again_ms());
  if (!wanted_.empty()) wait = std::min(wait, options_.report_every);
  next_report_ = MonotonicNow() + wait;
  bool again = false;
  for (const v1::OperationAnswer& answer : response->answers()) again |= Hear(answer);
  return again;
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

bool ClusterManager::Hear(const v1::OperationAnswer& answer) {
  const auto found = wanted_.find(answer.id());
  if (found == wanted_.end()) return false;
  Wanted& wanted = found->second;
  v1::ContainerOperation& operation = wanted.operation;
  wanted.delay = answer.delays().empty() ? v1::OperationDelay() : answer.delays(0);
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
      operation.set_stage(v1::OPERATION_BEGIN);
      if (!std::exchange(wanted.begun, true)) containers_.begin(operation);
      return false;
    case v1::OPERATION_REFUSED: {
      // It was about a life that is over. The same is wanted of the container's new life: as a new
      // operation of the same rollout.
      v1::ContainerOperation next = operation;
      next.clear_incarnation();
      const std::string rollout = answer.id().substr(0, answer.id().rfind('/'));
      wanted_.erase(found);
      Add(std::move(next), rollout);
      return true;
    }
    case v1::OPERATION_DONE:
      wanted_.erase(found);
      return false;
    default:
      return false;
  }
}

size_t ClusterManager::waiting() const {
  return static_cast<size_t>(std::count_if(wanted_.begin(), wanted_.end(), [](const auto& entry) {
    return entry.second.operation.stage() != v1::OPERATION_FINISHED;
  }));
}

std::map<std::string, std::string> ClusterManager::delays() const {
  std::map<std::string, std::string> delays;
  for (const auto& [id, wanted] : wanted_) {
    delays[wanted.operation.container()] = wanted.delay.message();
  }
  return delays;
}

// One line for each reason, and only when other containers wait for it than before.
void ClusterManager::TellDelays() {
  if (!options_.say) return;
  std::map<std::string, std::vector<std::string>> containers;
  std::map<std::string, std::string> message;
  for (const auto& [id, wanted] : wanted_) {
    const std::string& reason = wanted.delay.reason();
    // The next report says the life: nothing to tell a person.
    if (reason.empty() || reason == "LifeUnknown") continue;
    containers[reason].push_back(wanted.operation.container());
    message.emplace(reason, wanted.delay.message());
  }
  std::map<std::string, std::string> told;
  for (auto& [reason, names] : containers) {
    const size_t count = names.size();
    told[reason] = absl::StrJoin(names, ", ");
    if (told_[reason] == told[reason]) continue;
    names.resize(std::min(count, kMostNamed));
    const std::string some = absl::StrJoin(names, ", ");
    options_.say(absl::StrCat(options_.name, ": ", some, count > kMostNamed ? ", ..." : "",
                              count == 1 ? " waits (" : " wait (", reason, "): ", message[reason]));
  }
  told_ = std::move(told);
}

}  // namespace shardmanager::local
