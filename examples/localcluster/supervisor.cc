#include "examples/localcluster/supervisor.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "runtime/clock.h"

namespace shardmanager::local {
namespace {

constexpr std::chrono::milliseconds kLook{10};

std::string EndText(int exit_code) {
  return exit_code > 128 ? absl::StrCat("signal ", exit_code - 128)
                         : absl::StrCat("exit code ", exit_code);
}

}  // namespace

absl::Status Supervisor::Add(Container container) {
  const std::string name = container.name;
  if (Has(name)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a server \"", name, "\" already"));
  }
  Process& process = processes_[name];
  process.container = std::move(container);
  process.next_wait = options_.first_wait;
  absl::Status launched = Launch(process);
  if (!launched.ok()) processes_.erase(name);
  return launched;
}

void Supervisor::Restart(const std::string& name, int signal) {
  Process& process = processes_.at(name);
  process.wanted = true;
  End(process, signal);
}

void Supervisor::Move(const std::string& name, const std::string& rack, int signal) {
  processes_.at(name).container.rack = rack;
  Restart(name, signal);
}

void Supervisor::Stop(const std::string& name, int signal) {
  Process& process = processes_.at(name);
  process.wanted = false;
  End(process, signal);
}

void Supervisor::Start(const std::string& name) {
  Process& process = processes_.at(name);
  process.wanted = true;
  if (!process.up) process.start_at = MonotonicNow();
}

bool Supervisor::Settled(const std::string& name) const {
  const Process& process = processes_.at(name);
  return process.kill_at == kNever && process.up == process.wanted;
}

bool Supervisor::IsProcess(const std::string& name, std::string_view process) const {
  const Process& own = processes_.at(name);
  return own.up && process.ends_with(absl::StrCat("/", own.child.pid()));
}

std::string Supervisor::Describe(const std::string& name) const {
  const Process& process = processes_.at(name);
  std::string text = absl::StrCat(name, "  region ", process.container.region, "  rack ",
                                  process.container.rack, "  ");
  if (process.up) {
    absl::StrAppend(&text, process.kill_at == kNever ? "running" : "stopping", ", process ",
                    process.child.pid());
  } else {
    absl::StrAppend(&text, process.wanted ? "is about to start" : "stopped");
  }
  if (process.crashes > 0) absl::StrAppend(&text, ", ", process.crashes, " crashes");
  return text;
}

std::vector<std::string> Supervisor::names() const {
  std::vector<std::string> names;
  for (const auto& [name, process] : processes_) names.push_back(name);
  return names;
}

void Supervisor::Tick() {
  const TimePoint now = MonotonicNow();
  for (auto& [name, process] : processes_) LookAt(process, now);
}

void Supervisor::StopAll() {
  for (const std::string& name : names()) Stop(name);
  const auto up = [](const auto& entry) { return entry.second.up; };
  while (std::any_of(processes_.begin(), processes_.end(), up)) {
    Tick();
    std::this_thread::sleep_for(kLook);
  }
}

void Supervisor::End(Process& process, int signal) {
  const TimePoint now = MonotonicNow();
  if (!process.up) {
    process.start_at = now;
    return;
  }
  Say(absl::StrCat(process.container.name, ": ", signal == SIGKILL ? "killed" : "stopping",
                   process.wanted ? ", to be started again" : ""));
  process.child.Signal(signal);
  process.kill_at = std::min(process.kill_at, now + options_.grace);
}

absl::Status Supervisor::Launch(Process& process) {
  const Container& container = process.container;
  std::vector<std::string> argv;
  for (const std::string& argument : container.command) {
    argv.push_back(absl::StrReplaceAll(
        argument,
        {{"{name}", container.name}, {"{region}", container.region}, {"{rack}", container.rack}}));
  }
  absl::StatusOr<ChildProcess> child =
      ChildProcess::Start({.argv = std::move(argv), .log_file = container.log_file});
  if (!child.ok()) return child.status();
  process.child = *std::move(child);
  process.up = true;
  process.started = MonotonicNow();
  Say(absl::StrCat(container.name, ": started, process ", process.child.pid()));
  return absl::OkStatus();
}

void Supervisor::LookAt(Process& process, TimePoint now) {
  if (process.up) {
    if (const auto exit_code = process.child.Wait(std::chrono::milliseconds(0))) {
      OnEnd(process, *exit_code, now);
    } else if (now >= process.kill_at) {
      Say(absl::StrCat(process.container.name, ": did not end in time, killed"));
      process.child.Signal(SIGKILL);
      process.kill_at = now + options_.grace;
    }
  }
  if (process.up || !process.wanted || now < process.start_at) return;
  if (const absl::Status launched = Launch(process); !launched.ok()) {
    const Duration wait = TakeWait(process);
    process.start_at = now + wait;
    Say(absl::StrCat(process.container.name, ": ", launched.message(), "; next attempt in ",
                     InSeconds(wait), " s"));
  }
}

void Supervisor::OnEnd(Process& process, int exit_code, TimePoint now) {
  process.up = false;
  const bool told = process.kill_at != kNever;
  process.kill_at = kNever;
  process.start_at = now;
  if (told) {
    if (!process.wanted) Say(absl::StrCat(process.container.name, ": stopped"));
    return;
  }
  ++process.crashes;
  if (now - process.started > options_.longest_wait) process.next_wait = options_.first_wait;
  const Duration wait = TakeWait(process);
  process.start_at += wait;
  Say(absl::StrFormat("%s: ended by itself (%s); starts again in %g s", process.container.name,
                      EndText(exit_code), InSeconds(wait)));
}

Duration Supervisor::TakeWait(Process& process) const {
  const Duration wait = process.next_wait;
  process.next_wait = std::min(2 * wait, options_.longest_wait);
  return wait;
}

void Supervisor::Say(const std::string& line) const {
  if (options_.say) options_.say(line);
}

}  // namespace shardmanager::local
