// Everything that can go wrong in a simulated cell, a function each.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/faults/fault_scene.h"

namespace shardmanager::simulation {

using Fault = void (*)(FaultScene& scene);
struct FaultKind {
  const char* name;
  Fault fault;
};
// Those that end after a while, or when everything heals. New ones at the end: what a seed draws
// depends on the order.
const std::vector<FaultKind>& PassingFaults();

// ---- that last: nothing undoes them (lasting.cc)
// A server, unless too few are left.
void LeaveForGood(FaultScene& scene);
void LeaveUnseen(FaultScene& scene);
void GoGray(FaultScene& scene);
void KeepOutOfStep(FaultScene& scene);
void LoseCell(FaultScene& scene);
void FallSick(FaultScene& scene);

// ---- of processes (processes.cc)
void KillServer(FaultScene& scene);
void KillControl(FaultScene& scene);
void TerminateServer(FaultScene& scene);
void TerminateControl(FaultScene& scene);
void Flicker(FaultScene& scene);
void PauseServer(FaultScene& scene);
void PauseControl(FaultScene& scene);
void Depose(FaultScene& scene);
// For worlds with a quorum: one server misses what the others write, and then most of the others
// are away for so long that a careless control plane would go on without them.
void LoseMajority(FaultScene& scene);
// While something moves.
void RestartAll(FaultScene& scene);

// ---- of the network (network.cc)
void CutOneWay(FaultScene& scene);
void IsolateHost(FaultScene& scene);
void CutFromStore(FaultScene& scene);
void StrandFromStore(FaultScene& scene);
void DeposeStoreLeader(FaultScene& scene);
void ComeBackToLag(FaultScene& scene);
void IsolateRelay(FaultScene& scene);
void CutLeaderFromServer(FaultScene& scene);
void LoseMessages(FaultScene& scene);
void DuplicateCommands(FaultScene& scene);
void SlowNetwork(FaultScene& scene);

// ---- of the store (store.cc)
void ExpireSession(FaultScene& scene);
void LoseAnswer(FaultScene& scene);
void StopStore(FaultScene& scene);
void SlowStore(FaultScene& scene);

// ---- of the application and its operators (application.cc)
void SlowAdds(FaultScene& scene);
void FailAdds(FaultScene& scene);
void HangDrops(FaultScene& scene);
void FailDrops(FaultScene& scene);
void SlowRequests(FaultScene& scene);
void MoveSomething(FaultScene& scene);
void ChangeSpec(FaultScene& scene);
void NotifySomething(FaultScene& scene);
void AddServer(FaultScene& scene);

// ---- of cluster managers (managers.cc)
void ManagerVanishes(FaultScene& scene);
void ManagerForgets(FaultScene& scene);

// ---- parts of several
// The server's next life begins at once, as the session of this one ends with it.
void BeginAnew(FaultScene& scene, const std::string& host);
void SlowStoreOf(FaultScene& scene, const std::string& host);

}  // namespace shardmanager::simulation
