// The client processes of scripts/bench call.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "callers.h"
#include "runtime/child_process.h"

namespace shardmanager::call_bench {

// A process that makes calls when it is told, of one form, plainly or through a router: whatever
// threads one way needs must not wait beside the other.
class ClientProcess {
 public:
  // `plain`: the endpoint of the server that plain calls go to. `discovery`: of the router's;
  // empty: there is no router.
  static absl::StatusOr<std::unique_ptr<ClientProcess>> Start(Form form, Wire wire,
                                                              const std::string& plain,
                                                              const std::string& discovery,
                                                              const std::string& folder);

  pid_t pid() const { return process_.pid(); }
  struct Calls {
    double count;
    double switches;  // of its threads, that waited: each is a switch to another one
  };
  // Blocks meanwhile.
  Calls CallFor(std::chrono::milliseconds time, const Variant& variant);
  // The nanoseconds that an admission takes: the median of many.
  double AdmitNs();

 private:
  void Ask(const std::string& question);
  double Answer();

  ChildProcess process_;
  std::ofstream questions_;
  std::ifstream answers_;
};

// What that process does: main() of "call FORM WIRE PLAIN QUESTIONS ANSWERS
// [DISCOVERY]", questions and
// answers being pipes.
int MakeCalls(const std::vector<std::string>& arguments);

}  // namespace shardmanager::call_bench
