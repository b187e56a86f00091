#include "examples/localcluster/operation_ledger.h"

#include <algorithm>
#include <utility>

namespace shardmanager::local {

void OperationLedger::Want(v1::ContainerOperation operation) {
  const std::string id = operation.id();
  operation.set_stage(v1::OPERATION_WAITING);
  entries_[id] = {.operation = std::move(operation)};
}

void OperationLedger::GiveUp() {
  std::erase_if(entries_, [](const auto& entry) { return !entry.second.acting; });
}

v1::ReportRequest OperationLedger::NextReport() {
  v1::ReportRequest request;
  request.set_app(app_);
  request.set_manager(manager_);
  request.set_manager_life(life_);
  request.set_sequence(++sequence_);
  for (const auto& [id, entry] : entries_) *request.add_operations() = entry.operation;
  return request;
}

OperationLedger::Heard OperationLedger::Hear(uint64_t sequence, const v1::ReportResponse& response,
                                             const Uses& uses) {
  Heard heard;
  if (sequence != sequence_) return heard;
  for (const v1::OperationAnswer& answer : response.answers()) {
    const auto found = entries_.find(answer.id());
    if (found == entries_.end()) continue;
    Entry& entry = found->second;
    v1::ContainerOperation& operation = entry.operation;
    entry.heard = answer;
    switch (answer.verdict()) {
      case v1::OPERATION_APPROVED:
        if (operation.stage() != v1::OPERATION_WAITING || !uses(operation)) break;
        operation.set_stage(v1::OPERATION_BEGIN);
        heard.report_again = true;
        break;
      case v1::OPERATION_GO:
        if (operation.stage() == v1::OPERATION_FINISHED || entry.acting) break;
        operation.set_stage(v1::OPERATION_BEGIN);
        entry.acting = true;
        heard.act.push_back(operation);
        break;
      case v1::OPERATION_DELAYED:
        if (!entry.acting) operation.set_stage(v1::OPERATION_WAITING);
        break;
      case v1::OPERATION_REFUSED:
      case v1::OPERATION_DONE:
        heard.ended.push_back(operation);
        entries_.erase(found);
        break;
      default:
        break;
    }
  }
  return heard;
}

void OperationLedger::SetLife(const std::string& id, uint64_t incarnation) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.operation.set_incarnation(incarnation);
}

void OperationLedger::Finish(const std::string& id) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.operation.set_stage(v1::OPERATION_FINISHED);
}

bool OperationLedger::HasOneOf(const std::string& server) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& entry) { return entry.second.operation.server() == server; });
}

bool OperationLedger::MayStillAct(const std::string& id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.operation.stage() != v1::OPERATION_FINISHED;
}

}  // namespace shardmanager::local
