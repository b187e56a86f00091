// Which operations may go ahead now, and why the others may not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/decide/delay.h"
#include "taskcontroller/state/fleet_view.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"
#include "taskcontroller/state/report_book.h"
#include "taskcontroller/state/task_io.h"

namespace shardmanager::taskcontroller {

// The record of all operations that are prepared, approved or begun is written whole, and ZooKeeper
// takes 1 MB: no more go ahead than fit into so many bytes. (Some 5,000 with short texts.)
inline constexpr size_t kMostRecordBytes = 700'000;

struct Outcome {
  v1::OperationVerdict verdict = v1::OPERATION_DELAYED;
  std::vector<Delay> delays;
  uint32_t left = 0;  // replicas that have to leave the server first
};

struct Decision {
  // To be stored. What its outcomes say is true only when it is.
  HeldOperations next;
  // Of each operation that was reported.
  std::map<OperationKey, Outcome> outcomes;
  // Those that had their turn, and did not use it: they are younger from now on.
  struct Requeued {
    OperationKey key;
    bool stalled = false;  // what had to leave its server did not; else its approval was not used
  };
  std::vector<Requeued> requeued;
  std::vector<Note> notes;
  // Those that had begun, and are over now.
  std::vector<OperationKey> finished;
  // Nothing may be approved, whatever is asked for, and why; for people. Empty: something may.
  std::string held_back;
  // No more could be under way at once, as far as is proved (Selection::at_most): those that were
  // held or chosen now.
  uint32_t at_most = 0;
  // The same, with those that count as away already: they have begun, or an operator approved them.
  uint32_t at_once = 0;
};

// The order of one decision:
//   1. end what is over                                     (decide/sweep.h)
//   2. count what is away                                   (decide/away.h)
//   3. list what is to be considered, in order              (decide/docket.h)
//   4. choose a maximum set that breaks no limit            (selection/select.h)
//   5. a chosen one is prepared (alone, if that has stalled before), then approved, then begun when
//   its manager says that it would; an
//      approved one that is not chosen again is withdrawn: something failed meanwhile
Decision Decide(const Policy& policy, const ReportBook& reports, const HeldOperations& held,
                const FleetView& view, TimePoint now);

}  // namespace shardmanager::taskcontroller
