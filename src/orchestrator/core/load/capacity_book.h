// What servers can carry of each metric: as they registered, else as the spec says; and as they say
// in their reports, which overrides it.
//
// A capacity that flickers must not move shards for ever. So a fall counts when two reports in a
// row have it, and a rise when all reports of some minutes are above what counts by more than a
// tenth:
//   * loads.capacity_now is what counts by the newest reports;
//   * loads.capacity is what plans are made of. Like loads.planned it is renewed with each picture
//     (load_book.h), but a fall counts at once, so that a full server is given nothing more.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class CapacityBook {
 public:
  CapacityBook(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // A new life of the server has come: of reports of the last one nothing counts any more.
  void Register(ServerIndex server, const std::vector<MetricAmount>& registered);
  // What the server says; metrics that it does not name have what it registered. `at_rest`: no
  // course of balancing is under way. `problem`: what was wrong with it.
  void Record(ServerIndex server, const std::vector<MetricAmount>& said, bool at_rest,
              LoadProblem& problem);
  // Plans are made of a new picture from now on.
  void Renew() { state_.loads.capacity = state_.loads.capacity_now; }

 private:
  struct Watched {
    std::string metric;
    double last = 0;    // report
    double counts = 0;  // now
    double least = 0;   // since then, of what was above it
    TimePoint since{};
  };

  void Watch(std::vector<Watched>& all, const MetricAmount& said);
  // `capacity_now` of the server from what is registered and watched.
  void Count(ServerIndex server, const std::vector<Watched>& watched, bool at_rest);

  PartitionState& state_;
  Agenda& agenda_;
  absl::flat_hash_map<ServerIndex, std::vector<Watched>> watched_;
};

}  // namespace shardmanager::orchestrator
