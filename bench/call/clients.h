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
  // `endpoint`: of the server that plain calls go to; of discovery, for a router.
  static absl::StatusOr<std::unique_ptr<ClientProcess>> Start(Form form, bool plain,
                                                              const std::string& endpoint,
                                                              const std::string& folder);

  pid_t pid() const { return process_.pid(); }
  // Blocks meanwhile.
  uint64_t CallFor(std::chrono::milliseconds time, const Variant& variant);
  // The nanoseconds that an admission takes: the median of many.
  double AdmitNs();

 private:
  double Ask(const std::string& question);

  ChildProcess process_;
  std::ofstream questions_;
  std::ifstream answers_;
};

// What that process does: main() of "call FORM plain|routed ENDPOINT QUESTIONS ANSWERS", the last
// two being pipes.
int MakeCalls(const std::vector<std::string>& arguments);

}  // namespace shardmanager::call_bench
