// A program that lives no longer than we do.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shardmanager {

struct ChildOptions {
  // argv[0] is the program: a path, or a name looked up in PATH.
  std::vector<std::string> argv;
  // Added to our environment, "NAME=value".
  std::vector<std::string> environment;
  // stdout and stderr are appended to this file; empty: inherited.
  std::string log_file;
  // A network namespace to run in, as an open file (setns(2)); negative: ours.
  int network_namespace = -1;
};

// Killed (SIGKILL) when its parent process dies, however that happens, and when
// this is destroyed. Movable. Not thread-safe.
class ChildProcess {
 public:
  // Spawns from a thread that lives as long as the process (the kernel's
  // parent-death signal is tied to the spawning thread). Errors: NOT_FOUND, the
  // program cannot be executed.
  static absl::StatusOr<ChildProcess> Start(const ChildOptions& options);

  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  bool running();
  // After SIGSTOP it has stopped when this returns.
  void Signal(int signal);
  // Waits for the end. The exit code, 128 + signal when a signal ended it; nothing
  // when it is still running after `timeout`.
  std::optional<int> Wait(std::chrono::milliseconds timeout);
  // SIGTERM, then SIGKILL after `grace`. Returns what Wait would.
  int Stop(std::chrono::milliseconds grace);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// A TCP port on 127.0.0.1 that nobody listens on now.
int FreePort();

}  // namespace shardmanager
