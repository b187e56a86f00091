// Container operations: as a cluster manager reports them, and as they are held.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/app_spec.pb.h"
#include "taskcontroller/state/policy.h"

namespace shardmanager::taskcontroller {

// Ids are unique in one manager.
struct OperationKey {
  std::string manager;
  std::string id;
  friend auto operator<=>(const OperationKey&, const OperationKey&) = default;
};

// What an operation is, whatever becomes of it.
struct OperationInfo {
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  std::string server;
  Incarnation life;       // of the server; 0: not known
  std::string container;  // for people, as `reason`
  std::string reason;
  Duration expected{};  // from the stop until the server serves again
  bool state_lost = false;
  friend bool operator==(const OperationInfo&, const OperationInfo&) = default;
};

enum class ReportedStage : uint8_t { kWaiting, kBegin, kFinished };

struct ReportedOperation {
  std::string id;
  OperationInfo info;
  ReportedStage stage = ReportedStage::kWaiting;
  std::optional<Duration> deadline;  // from the report on
  Duration pending{};                // wanted for so long already

  // It is not finished, and no start: nothing holds a start back.
  bool NeedsApproval() const { return stage != ReportedStage::kFinished && info.kind != v1::START; }
};

// All that a manager wants of the app.
struct Report {
  uint64_t ticket = 0;  // the answer names it
  std::string manager;
  uint64_t manager_life = 0;
  uint64_t sequence = 0;
  std::vector<ReportedOperation> operations;
};

// Where an operation stands that the control plane has agreed to.
enum class HeldStage : uint8_t {
  kPreparing,  // what has to leave the server is being moved away
  kApproved,   // its manager may begin it
  kBegun,      // its manager was told to act
};

struct HeldOperation {
  OperationInfo info;
  HeldStage stage = HeldStage::kPreparing;
  Leaving leaving;      // decided once, so that it does not change in between
  bool forced = false;  // an operator approved it against the limits
  // When it entered the stage, as far as this leader knows: after a takeover, when it was read.
  TimePoint since{};
  // Of kPreparing: replicas that were left to leave, and when there were more.
  uint32_t left = 0;
  TimePoint progress_at{};

  // As far as it is stored.
  bool SameRecord(const HeldOperation& other) const {
    return info == other.info && stage == other.stage && leaving == other.leaving &&
           forced == other.forced;
  }
};
using HeldOperations = std::map<OperationKey, HeldOperation>;

}  // namespace shardmanager::taskcontroller
