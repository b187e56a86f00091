#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {

const std::vector<FaultKind>& PassingFaults() {
  static const std::vector<FaultKind> kinds = {
      {"kill server", &KillServer},
      {"terminate server", &TerminateServer},
      {"pause server", &PauseServer},
      {"flicker", &Flicker},
      {"kill control", &KillControl},
      {"terminate control", &TerminateControl},
      {"pause control", &PauseControl},
      {"depose the leader", &Depose},
      {"cut one way", &CutOneWay},
      {"isolate host", &IsolateHost},
      {"cut from store", &CutFromStore},
      {"strand from store", &StrandFromStore},
      {"depose the store's leader", &DeposeStoreLeader},
      {"come back to lag", &ComeBackToLag},
      {"isolate relay", &IsolateRelay},
      {"cut leader from server", &CutLeaderFromServer},
      {"expire session", &ExpireSession},
      {"lose answer", &LoseAnswer},
      {"stop store", &StopStore},
      {"slow store", &SlowStore},
      {"lose messages", &LoseMessages},
      {"duplicate commands", &DuplicateCommands},
      {"slow network", &SlowNetwork},
      {"slow adds", &SlowAdds},
      {"failing adds", &FailAdds},
      {"hanging drops", &HangDrops},
      {"failing drops", &FailDrops},
      {"slow requests", &SlowRequests},
      {"change spec", &ChangeSpec},
      {"add server", &AddServer},
      {"manager vanishes", &ManagerVanishes},
      {"manager forgets", &ManagerForgets},
      {"notice of a maintenance", &NotifySomething},
  };
  return kinds;
}

}  // namespace shardmanager::simulation
