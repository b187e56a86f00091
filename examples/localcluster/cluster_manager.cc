#include "examples/localcluster/cluster_manager.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"
#include "wire/grpc_status.h"
#include "wire/transport.h"

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

// Empty: none was heard.
v1::OperationDelay FirstDelay(const OperationLedger::Entry& entry) {
  return entry.heard.delays().empty() ? v1::OperationDelay() : entry.heard.delays(0);
}

}  // namespace

ClusterManager::ClusterManager(ClusterManagerOptions options, ContainerPort containers)
    : options_(std::move(options)),
      containers_(std::move(containers)),
      ledger_(options_.app, options_.name, static_cast<uint64_t>(WallMilliseconds())) {
  Connect(options_.endpoint);
}

void ClusterManager::Connect(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostAnswerBytes);
  stub_ = v1::TaskControl::NewStub(
      options_.transport->Open(endpoint, security::AControlPlane(), arguments));
}

absl::Status ClusterManager::Want(v1::OperationKind kind, const std::string& container,
                                  const std::string& reason, std::chrono::milliseconds expected) {
  for (const auto& [id, entry] : ledger_.entries()) {
    const v1::ContainerOperation& other = entry.operation;
    if (other.container() == container && other.kind() == kind && !entry.acting) {
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
  Add(std::move(operation), absl::StrCat(ledger_.life(), "-", rollouts_));
  return absl::OkStatus();
}

void ClusterManager::Add(v1::ContainerOperation operation, const std::string& rollout) {
  operation.set_id(absl::StrCat(rollout, "/", operation.container(), ".", ++operations_));
  next_report_ = {};
  ledger_.Want(std::move(operation));
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
  std::vector<std::string> done;
  for (const auto& [id, entry] : ledger_.entries()) {
    const v1::ContainerOperation& operation = entry.operation;
    if (!entry.acting || operation.stage() == v1::OPERATION_FINISHED) continue;
    if (containers_.done(operation.container())) done.push_back(id);
  }
  for (const std::string& id : done) ledger_.Finish(id);
  return !done.empty();
}

absl::StatusOr<bool> ClusterManager::Round() {
  const v1::ReportRequest report = ledger_.NextReport();
  const absl::StatusOr<v1::ReportResponse> response = Send(report);
  if (!response.ok()) return response.status();
  ++answered_;
  const auto uses = [](const v1::ContainerOperation&) { return true; };
  OperationLedger::Heard heard = ledger_.Hear(report.sequence(), *response, uses);
  for (const v1::ContainerOperation& operation : heard.act) containers_.begin(operation);
  for (v1::ContainerOperation& operation : heard.ended) {
    if (operation.stage() == v1::OPERATION_FINISHED) continue;
    // Refused: it was about a life that is over. The same is wanted of the container's new life, as
    // a new operation of the same rollout.
    operation.clear_incarnation();
    const std::string rollout = operation.id().substr(0, operation.id().rfind('/'));
    Add(std::move(operation), rollout);
    heard.report_again = true;
  }
  heard.report_again |= TellLives();
  Duration wait = Milliseconds(response->report_again_ms());
  if (!idle()) wait = std::min(wait, options_.report_every);
  next_report_ = MonotonicNow() + wait;
  return heard.report_again;
}

// The container's life, as the control plane numbers it: only if it is the same process.
bool ClusterManager::TellLives() {
  std::map<std::string, uint64_t> lives;  // by id
  for (const auto& [id, entry] : ledger_.entries()) {
    const v1::ContainerOperation& operation = entry.operation;
    const v1::OperationAnswer& heard = entry.heard;
    const bool other = heard.verdict() == v1::OPERATION_DELAYED &&
                       operation.incarnation() != heard.incarnation() && !heard.process().empty();
    if (other && containers_.is_process(operation.container(), heard.process())) {
      lives[id] = heard.incarnation();
    }
  }
  for (const auto& [id, life] : lives) ledger_.SetLife(id, life);
  return !lives.empty();
}

absl::StatusOr<v1::ReportResponse> ClusterManager::Send(const v1::ReportRequest& report) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  v1::ReportResponse response;
  const grpc::Status status = stub_->Report(&context, report, &response);
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

size_t ClusterManager::waiting() const {
  const auto& entries = ledger_.entries();
  return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.second.operation.stage() != v1::OPERATION_FINISHED;
  }));
}

std::map<std::string, std::string> ClusterManager::delays() const {
  std::map<std::string, std::string> delays;
  for (const auto& [id, entry] : ledger_.entries()) {
    delays[entry.operation.container()] = FirstDelay(entry).message();
  }
  return delays;
}

// One line for each reason, and only when other containers wait for it than before.
void ClusterManager::TellDelays() {
  if (!options_.say) return;
  std::map<std::string, std::vector<std::string>> containers;
  std::map<std::string, std::string> message;
  for (const auto& [id, entry] : ledger_.entries()) {
    const v1::OperationDelay delay = FirstDelay(entry);
    // The next report says the life: nothing to tell a person.
    if (delay.reason().empty() || delay.reason() == "LifeUnknown") continue;
    containers[delay.reason()].push_back(entry.operation.container());
    message.emplace(delay.reason(), delay.message());
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
