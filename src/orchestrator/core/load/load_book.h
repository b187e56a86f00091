// What servers report about their loads, and when it is worth a look at the balance.
//
// Two tables, so that noise does not move shards for ever:
//   * loads.reported follows every report (half-way, which halves the noise);
//   * loads.planned is what plans are made of. It stands still until the partition is at
//     rest, so that one course of balancing works on one picture and comes to an end as
//     the solver does. It is renewed when some server is by the newest reports well
//     beyond where the solver may leave it, and where it did leave it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "orchestrator/core/agenda.h"
#include "orchestrator/core/load/capacity_book.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class LoadBook {
 public:
  LoadBook(PartitionState& state, Agenda& agenda)
      : state_(state), agenda_(agenda), capacities_(state, agenda) {}

  // REQUIRES: state.spec is the new one.
  bool AdoptMetrics();  // true: they changed
  // What a server said that a replica of it carries; `problem`: what was wrong with it.
  void RecordLoads(ReplicaIndex id, const HeldReplica& held, LoadProblem& problem);
  // Said when it begins; counted always.
  void NoteLoadProblem(ServerIndex server, const LoadProblem& problem);
  // What a new replica will carry: as another one of the shard does, one in the same role if there
  // is one.
  void InheritLoads(ReplicaIndex fresh);
  // The primary was `before` and is `now`, if both are valid: each carries what the other one did.
  void PassLoads(ReplicaIndex before, ReplicaIndex now);
  void RemoveReplica(ReplicaIndex id);
  void AdoptCapacities(ServerIndex server, const std::vector<MetricAmount>& registered) {
    capacities_.Register(server, registered);
  }
  void RecordCapacities(ServerIndex server, const std::vector<MetricAmount>& said,
                        LoadProblem& problem) {
    capacities_.Record(server, said, course_over_, problem);
  }
  // The solver sees nothing to improve in its picture: how it left the servers is what
  // further reports are compared with.
  void EndCourse();
  // A plan for balance has come back, whatever is in it.
  void GoOn() { course_over_ = false; }
  // Called when there is time to look at the balance.
  void ConsiderLoads();
  size_t memory_bytes() const { return pressure_.capacity() * sizeof(float); }

 private:
  PartitionState& state_;
  Agenda& agenda_;
  CapacityBook capacities_;
  std::vector<float> pressure_;  // as the last course of balancing left the servers
  TimePoint pictured_at_{};
  bool course_over_ = false;  // the last plan found nothing to improve in state_.loads.planned
  absl::flat_hash_set<ServerIndex> bad_loads_;  // reported a load out of range lately
};

}  // namespace shardmanager::orchestrator
