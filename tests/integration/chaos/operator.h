// An operator who changes the app's spec all the time, and remembers what the control
// plane acknowledged.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "shardmanager/v1/app_spec.pb.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager::testing {

// Runs from its making until Finish().
class Operator {
 public:
  // Asks one shardmanagerd after the other. Changes how often servers are looked at.
  Operator(const local::Cluster& cluster, v1::AppSpec spec);
  ~Operator();

  // An error: the spec is not what was acknowledged last, nor one whose answer was lost.
  absl::Status Finish();
  // Changes.
  int acknowledged() const { return acknowledged_; }

 private:
  void Run();
  void Change(uint32_t change);
  void Stop();

  std::vector<local::AdminClient> managers_;
  v1::AppSpec spec_;
  uint32_t last_acknowledged_ = 0;
  std::set<uint32_t> unknown_;
  int acknowledged_ = 0;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace shardmanager::testing
