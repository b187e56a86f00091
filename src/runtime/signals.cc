#include "runtime/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace shardmanager {
namespace {

// Process-wide, because signal handlers are.
std::atomic<int> event_fd{-1};
std::atomic<int> received{0};
struct sigaction former_term, former_int;

void Notify() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(event_fd.load(), &one, sizeof one);
}

void OnSignal(int signal) {  // async-signal-safe calls only
  const int saved_errno = errno;
  int none = 0;
  received.compare_exchange_strong(none, signal);
  Notify();
  errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals() {
  received = 0;
  if (event_fd.exchange(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) != -1) {
    std::fputs("StopSignals: there is one already\n", stderr);
    std::abort();
  }
  struct sigaction action {};
  action.sa_handler = OnSignal;
  // SA_RESETHAND: the second signal finds the default handler, which kills.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGTERM, &action, &former_term);
  sigaction(SIGINT, &action, &former_int);
}

StopSignals::~StopSignals() {
  sigaction(SIGTERM, &former_term, nullptr);
  sigaction(SIGINT, &former_int, nullptr);
  close(event_fd.exchange(-1));
}

int StopSignals::Wait() {
  while (true) {
    if (auto signal = WaitFor(std::chrono::milliseconds(-1))) return *signal;
  }
}

std::optional<int> StopSignals::WaitFor(std::chrono::milliseconds timeout) {
  // The event is never read, so it stays set for every later and parallel wait.
  pollfd event{event_fd.load(), POLLIN, 0};
  if (poll(&event, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  return received.load();
}

void StopSignals::RequestStop() { Notify(); }

}  // namespace shardmanager
