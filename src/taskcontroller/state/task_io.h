// What goes into a TaskController (events) and comes out of it (actions).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "model/server_order.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/state/fleet_view.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"

namespace shardmanager::taskcontroller {

// ---- events ----

// First event: the policy, and what is stored. Sent once.
struct Recovered {
  Policy policy;
  HeldOperations held;
};
struct PolicyChanged {
  Policy policy;
};
// The report is well-formed (ParseReport in stored_operations.h).
struct Reported {
  Report report;
};
// The answer to LookAtFleet. What it points to is there while the event is handled.
struct FleetSeen {
  const FleetView* view;
};
// The answer to Persist. Not ok: it may be stored or not; the next one replaces it in any case.
struct Written {
  uint64_t write = 0;
  bool ok = true;
};
// An operator approves it, whatever the limits say. It must be reported.
struct Forced {
  OperationKey key;
  std::string who;  // for people
};

// An operator says that an operation that has begun is over, whatever its manager says or does not
// say. Repeats, and what has not begun, change nothing.
struct Ended {
  OperationKey key;
  std::string who;  // for people
};

using Event = std::variant<Recovered, PolicyChanged, Reported, FleetSeen, Written, Forced, Ended>;

// ---- actions ----

// Answer at once, with FleetSeen.
struct LookAtFleet {};

// What is to be stored, all of it; answer with Written. One is out at a time.
struct Persist {
  uint64_t write = 0;
  HeldOperations held;
};

// To the report of that ticket.
struct Answer {
  uint64_t ticket = 0;
  absl::Status status;
  v1::ReportResponse response;  // if the status is OK
};

// All orders that hold, ascending by server; those before are void. They hold at once: before an
// approval is stored, the server is closed.
struct Order {
  std::vector<ServerOrder> orders;
};

enum class NoteKind : uint8_t {
  kOperationPreparing,
  kOperationApproved,
  kOperationForced,
  kOperationBegun,
  kOperationFinished,
  kOperationLapsed,
  kOperationWithdrawn,
  kOperationStalled,
  kOperationEnded,
};
// The event's name in `shardctl watch` (ControlEvent.kind).
std::string_view NameOf(NoteKind kind);
// For logs, metrics and `shardctl watch`: what happened and why.
struct Note {
  NoteKind kind;
  std::string server;
  std::string detail;
  std::string operation = {};  // its id
};

using Action = std::variant<LookAtFleet, Persist, Answer, Order, Note>;

}  // namespace shardmanager::taskcontroller
