// What servers tell of their requests by shard and key, and the events that warn of hot ones.
//
// Nothing of it is stored, and nothing is decided by it: it is for people. A new leader knows it
// again after one collection or two.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/core/agenda.h"
#include "orchestrator/decide/load/skew.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class SkewBook {
 public:
  // Of a server; what is beyond is left out, the rarest first.
  static constexpr size_t kMostKeys = 32;
  // Entropies are kept for so long.
  static constexpr Duration kKept = Seconds(3'600);

  SkewBook(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // What a server said, once its replicas are known.
  void Record(const ServerReport& report);
  // On TimerKind::kSkew: what is hot now?
  void Look();

 private:
  void SetTimer();
  Duration Interval() const;
  std::vector<ReplicaTraffic> ReplicasOf(const CountedTraffic& counted,
                                         const std::vector<ReplicaTraffic>& before);
  std::vector<KeyTraffic> KeysOf(const CountedTraffic& counted, const ServerTraffic& before);
  void ForgetSilent();
  void LookAtEntropy();
  // They return how the hottest one compares with what a server has on average.
  double LookAtShards(const AppTraffic& app);
  double LookAtKeys(const AppTraffic& app);

  PartitionState& state_;
  Agenda& agenda_;
  bool timer_is_set_ = false;
};

}  // namespace shardmanager::orchestrator
