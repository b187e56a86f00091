#include "taskcontroller/describe/operations.h"

#include <set>

namespace shardmanager::taskcontroller {
namespace {

const char* NameOf(HeldStage stage) {
  switch (stage) {
    case HeldStage::kPreparing:
      return "preparing";
    case HeldStage::kApproved:
      return "approved";
    case HeldStage::kBegun:
      return "begun";
  }
  return "";
}

int64_t InMs(Duration duration) { return duration / Milliseconds(1); }

void AddInfo(const OperationInfo& info, v1::OperationStatus& status) {
  status.set_kind(info.kind);
  status.set_server(info.server);
  status.set_incarnation(info.life.value());
  status.set_reason(info.reason);
}

}  // namespace

std::vector<v1::OperationStatus> DescribeOperations(
    const HeldOperations& held, const ReportBook& reports,
    const std::map<OperationKey, v1::OperationAnswer>& answers, const std::string& id,
    TimePoint now) {
  std::set<OperationKey> keys;
  for (const auto& [key, operation] : held) keys.insert(key);
  reports.ForEach([&](const OperationKey& key, const WantedOperation&) { keys.insert(key); });
  std::vector<v1::OperationStatus> all;
  for (const OperationKey& key : keys) {
    if (!id.empty() && key.id != id) continue;
    v1::OperationStatus& status = all.emplace_back();
    status.set_manager(key.manager);
    status.set_id(key.id);
    status.set_state("waiting");
    const Manager* manager = reports.Find(key.manager);
    status.set_silent_ms(manager == nullptr ? -1 : InMs(now - manager->heard_at));
    if (const WantedOperation* wanted = reports.Find(key); wanted != nullptr) {
      AddInfo(wanted->reported.info, status);
      status.set_since_ms(InMs(now - wanted->since));
    }
    if (const auto found = held.find(key); found != held.end()) {
      AddInfo(found->second.info, status);
      status.set_state(NameOf(found->second.stage));
      status.set_since_ms(InMs(now - found->second.since));
      status.set_forced(found->second.forced);
    }
    const auto answer = answers.find(key);
    const bool waits = status.state() == "waiting" || status.state() == "preparing";
    if (answer != answers.end() && waits) *status.mutable_delays() = answer->second.delays();
  }
  return all;
}

}  // namespace shardmanager::taskcontroller
