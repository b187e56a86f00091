#include "runtime/child_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child between fork and exec: only async-signal-safe calls.
void PrepareChild(pid_t parent, const char* log_file, int network_namespace) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (log_file != nullptr) {
    const int fd = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) _exit(127);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
  }
  if (network_namespace >= 0 && setns(network_namespace, CLONE_NEWNET) != 0) _exit(127);
}

int ExitCode(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

// Returns when the process has ended, or the time is over.
void AwaitEnd(pid_t pid, std::chrono::milliseconds timeout) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) return;
  pollfd event{handle, POLLIN, 0};
  const TimePoint deadline = MonotonicNow() + timeout;
  // A signal to us (say, Ctrl-C) interrupts poll: wait for what is left.
  while (poll(&event, 1, static_cast<int>(timeout.count())) < 0 && errno == EINTR) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicNow());
    timeout = std::max(left, std::chrono::milliseconds(0));
  }
  close(handle);
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const ChildOptions& options) {
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> environment;
  for (char** e = environ; *e != nullptr; ++e) environment.emplace_back(*e);
  environment.insert(environment.end(), options.environment.begin(), options.environment.end());
  std::vector<char*> argv_pointers = Pointers(argv);
  std::vector<char*> environment_pointers = Pointers(environment);
  const char* log = options.log_file.empty() ? nullptr : options.log_file.c_str();

  // The child reports a failed exec through a pipe that a good exec closes.
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    close(report[0]);
    close(report[1]);
    return absl::ErrnoToStatus(errno, "fork");
  }
  if (pid == 0) {
    PrepareChild(parent, log, options.network_namespace);
    execvpe(argv_pointers[0], argv_pointers.data(), environment_pointers.data());
    const int error = errno;
    [[maybe_unused]] ssize_t n = write(report[1], &error, sizeof error);
    _exit(127);
  }
  close(report[1]);
  int error = 0;
  const ssize_t n = read(report[0], &error, sizeof error);
  close(report[0]);
  if (n > 0) {
    waitpid(pid, nullptr, 0);
    return absl::NotFoundError(absl::StrCat("cannot execute ", argv[0], ": ", strerror(error)));
  }
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_code_(other.exit_code_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  Signal(SIGKILL);
  Wait(std::chrono::milliseconds(10'000));
}

bool ChildProcess::running() { return pid_ > 0 && !Wait(std::chrono::milliseconds(0)); }

void ChildProcess::Signal(int signal) {
  if (pid_ <= 0 || exit_code_) return;
  kill(pid_, signal);
  if (signal != SIGSTOP) return;
  siginfo_t stopped;
  while (waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

std::optional<int> ChildProcess::Wait(std::chrono::milliseconds timeout) {
  if (exit_code_ || pid_ <= 0) return exit_code_;
  AwaitEnd(pid_, timeout);
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) exit_code_ = ExitCode(status);
  return exit_code_;
}

int ChildProcess::Stop(std::chrono::milliseconds grace) {
  Signal(SIGTERM);
  if (auto code = Wait(grace)) return *code;
  Signal(SIGKILL);
  return Wait(std::chrono::milliseconds(10'000)).value_or(-1);
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  int port = -1;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port = ntohs(address.sin_port);
  }
  close(fd);
  return port;
}

}  // namespace shardmanager
