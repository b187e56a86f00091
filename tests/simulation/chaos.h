// What goes wrong, when, and for how long: faults drawn from a seed. Each run has some
// kinds of faults and not others, so that rare combinations come up often. Most end after a
// while, or when everything heals; in some runs a few last for ever.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "tests/simulation/cluster.h"
#include "tests/simulation/operator.h"

namespace shardmanager::simulation {

class Chaos {
 public:
  // `told`: hears of each fault, for the trace.
  Chaos(Cluster& cluster, Operator& person, uint64_t seed,
        std::function<void(const std::string&)> told);

  // Faults from now on, until Heal().
  void Start();
  // Undoes all that still holds, and does nothing more.
  void Heal();
  // A server, unless too few are left.
  void LeaveForGood();
  uint64_t faults() const { return faults_; }

 private:
  using Fault = void (Chaos::*)();
  struct Kind {
    const char* name;
    Fault fault;
  };
  static const std::vector<Kind>& Kinds();

  // Faults that nothing undoes.
  void PlanLasting();
  void LeaveUnseen();
  void GoGray();
  void KeepOutOfStep();
  void LoseCell();
  void FallSick();
  void Next();
  // Undoes a fault after a while, or when everything heals.
  void Until(Duration most, std::function<void()> undo);
  void UntilAfter(Duration exactly, std::function<void()> undo);

  void KillServer();
  void TerminateServer();
  void PauseServer();
  void Flicker();
  void KillControl();
  void TerminateControl();
  void PauseControl();
  void Depose();
  void CutOneWay();
  void IsolateHost();
  void CutFromStore();
  void StrandFromStore();
  void DeposeStoreLeader();
  void ComeBackToLag();
  void IsolateRelay();
  void CutLeaderFromServer();
  void ExpireSession();
  void LoseAnswer();
  void StopStore();
  void SlowStore();
  void LoseMessages();
  void DuplicateCommands();
  void SlowNetwork();
  void SlowAdds();
  void FailAdds();
  void HangDrops();
  void FailDrops();
  void SlowRequests();
  void ChangeSpec();
  void AddServer();

  void KillAndRestart(const std::string& host);
  void MoveSomething();
  void BeginAnew(const std::string& host);
  void SlowStoreOf(const std::string& host);
  void PauseFor(const std::string& host, Duration exactly);
  void CutSoon(const std::string& host);
  const std::string& SomeServer();
  const std::string& SomeControl();
  std::string SomeHost();
  Duration UpTo(Duration most);
  void Tell(const std::string& what);

  Cluster& cluster_;
  Operator& operator_;
  Random random_;
  const std::function<void(const std::string&)> told_;
  const bool loses_cell_;
  std::vector<Fault> enabled_;
  Duration pause_{};            // between two faults, at most
  std::vector<Fault> lasting_;  // that are still to come
  bool leaves_late_ = false;    // a server, after the other faults
  bool starves_late_ = false;   // a secondary cannot come into step, likewise
  bool on_ = false;
  uint64_t faults_ = 0;
  std::list<std::function<void()>> undos_;
};

}  // namespace shardmanager::simulation
