// Runs processes on this machine: starts them again when they crash, and stops and restarts them
// when told. It knows nothing of shards.
#pragma once

#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "runtime/child_process.h"

namespace shardmanager::local {

struct Container {
  // REQUIRED. Unique, and the name under which its server registers. Example: "kv-1".
  std::string name;
  std::string region;
  std::string rack;
  // REQUIRED. The command line. "{name}", "{region}" and "{rack}" are replaced in each argument.
  std::vector<std::string> command;
  // OPTIONAL. stdout and stderr are appended to this file. Default: those of this process.
  std::string log_file;
};

struct SupervisorOptions {
  // A process that has not ended so long after SIGTERM is killed.
  Duration grace = Seconds(15);
  // The wait before a crashed process starts again. It doubles with each crash, up to the longest,
  // and starts again at the first once the process has run for longer than the longest wait.
  Duration first_wait = Milliseconds(500);
  Duration longest_wait = Seconds(10);
  // OPTIONAL. Gets a line for people for each start, stop and crash.
  std::function<void(const std::string& line)> say;
};

// No method waits for a process but StopAll(). Use it from one thread, which lives as long as the
// processes (see ChildProcess). All processes end with this object and with our own process.
class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options) : options_(std::move(options)) {}

  // Starts it. NOT_FOUND: the program cannot be executed. ALREADY_EXISTS: the name is taken.
  absl::Status Add(Container container);

  // REQUIRES, for all of these: Has(name).
  // Ends the process with `signal` (SIGTERM or SIGKILL) and starts it again once it has ended.
  void Restart(const std::string& name, int signal = SIGTERM);
  // The same, and it starts with another {rack}: this machine's stand-in for another machine.
  void Move(const std::string& name, const std::string& rack, int signal = SIGTERM);
  // Ends it; it stays stopped until Start() or Restart().
  void Stop(const std::string& name, int signal = SIGTERM);
  void Start(const std::string& name);
  // Kills it behind our own back, to see what a crash does.
  void Crash(const std::string& name) { processes_.at(name).child.Signal(SIGKILL); }
  // What was told last is done: the process runs (in its new life), or has ended for good.
  bool Settled(const std::string& name) const;
  bool Running(const std::string& name) const { return processes_.at(name).up; }
  // Is this the container's present process? `process`: "host/pid", as the control plane knows it.
  bool IsProcess(const std::string& name, std::string_view process) const;
  std::string Describe(const std::string& name) const;

  bool Has(const std::string& name) const { return processes_.contains(name); }
  const Container& container(const std::string& name) const {
    return processes_.at(name).container;
  }
  std::vector<std::string> names() const;

  // Looks at the processes and does what is due. Call it every 50 ms or so.
  void Tick();
  // Stops all of them at the same time and waits for the end, as long as `grace` at most.
  void StopAll();

 private:
  struct Process {
    Container container;
    ChildProcess child;
    bool wanted = true;           // it should run
    bool up = false;              // it ran when we looked last
    TimePoint kill_at = kNever;   // it was told to end, and is killed then
    TimePoint start_at = kNever;  // when it is not up
    TimePoint started{};
    Duration next_wait{0};
    int crashes = 0;
  };

  void End(Process& process, int signal);
  absl::Status Launch(Process& process);
  void LookAt(Process& process, TimePoint now);
  void OnEnd(Process& process, int exit_code, TimePoint now);
  Duration TakeWait(Process& process) const;
  void Say(const std::string& line) const;

  const SupervisorOptions options_;
  std::map<std::string, Process> processes_;
};

}  // namespace shardmanager::local
