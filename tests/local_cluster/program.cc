#include "tests/local_cluster/program.h"

#include <signal.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::local {
namespace {

// A process that does not stop within this is killed.
constexpr std::chrono::milliseconds kGrace{15'000};

}  // namespace

Program::Program(std::string name, std::vector<std::string> argv, const std::string& log_folder,
                 int network_namespace)
    : name_(std::move(name)),
      argv_(std::move(argv)),
      log_file_(absl::StrCat(log_folder, "/", name_, ".log")),
      network_namespace_(network_namespace) {}

absl::Status Program::Start() {
  (void)unasked_end();
  absl::StatusOr<ChildProcess> process = ChildProcess::Start(
      {.argv = argv_, .log_file = log_file_, .network_namespace = network_namespace_});
  if (!process.ok()) return process.status();
  process_ = *std::move(process);
  paused_ = false;
  end_is_known_ = false;
  return absl::OkStatus();
}

void Program::Kill() {
  (void)unasked_end();
  end_is_known_ = true;
  process_.Signal(SIGKILL);
  process_.Wait(kGrace);
  paused_ = false;
}

int Program::Stop() {
  (void)unasked_end();
  end_is_known_ = true;
  Resume();
  return process_.Stop(kGrace);
}

std::optional<int> Program::Wait(std::chrono::milliseconds timeout) {
  const std::optional<int> code = process_.Wait(timeout);
  if (code) end_is_known_ = true;
  return code;
}

std::optional<int> Program::unasked_end() {
  if (!end_is_known_ && pid() > 0 && !process_.running()) {
    end_is_known_ = true;
    unasked_end_ = process_.Wait(std::chrono::milliseconds(0));
  }
  return unasked_end_;
}

void Program::Pause() {
  process_.Signal(SIGSTOP);
  paused_ = true;
}

void Program::Resume() {
  if (!paused_) return;
  process_.Signal(SIGCONT);
  paused_ = false;
}

std::string Program::Log() const {
  std::ifstream file(log_file_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Program::LogTail(size_t lines) const {
  const std::string log = Log();
  size_t from = log.size();
  for (size_t found = 0; from > 0 && found <= lines; ++found) {
    const size_t newline = log.rfind('\n', from - 1);
    from = newline == std::string::npos ? 0 : newline;
  }
  return absl::StrCat("---- ", log_file_, from > 0 ? " (its end)" : "\n", log.substr(from), "\n");
}

}  // namespace shardmanager::local
