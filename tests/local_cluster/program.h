// One process of a local cluster, over several lives.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/child_process.h"

namespace shardmanager::local {

// Its output goes to `<name>.log` in the log folder, all lives in one file. The
// process dies with this object and with our own process. Not thread-safe; Start()
// only from a thread that lives as long as the process (see ChildProcess).
class Program {
 public:
  // `network_namespace` as in ChildOptions.
  Program(std::string name, std::vector<std::string> argv, const std::string& log_folder,
          int network_namespace = -1);

  // REQUIRES: not running. Again after an end: the same command line.
  absl::Status Start();
  void Kill();    // SIGKILL, and waits for the end
  int Stop();     // SIGTERM, and waits: the exit code
  void Pause();   // SIGSTOP
  void Resume();  // SIGCONT
  // As ChildProcess::Wait.
  std::optional<int> Wait(std::chrono::milliseconds timeout);
  // The exit code of a life that ended and that nobody stopped, killed or waited for.
  std::optional<int> unasked_end();

  const std::string& name() const { return name_; }
  pid_t pid() const { return process_.pid(); }
  bool running() { return process_.running(); }
  bool paused() const { return paused_; }

  const std::string& log_file() const { return log_file_; }
  std::string Log() const;
  // The end of the log, under a line with the name.
  std::string LogTail(size_t lines) const;

 private:
  std::string name_;
  std::vector<std::string> argv_;
  std::string log_file_;
  int network_namespace_;
  ChildProcess process_;
  bool paused_ = false;
  bool end_is_known_ = false;  // of this life
  std::optional<int> unasked_end_;
};

}  // namespace shardmanager::local
