#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "cli/shardctl.h"

namespace {

// https://no-color.org: set, and not empty.
bool ColoursWanted() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string(term) != "dumb");
}

int64_t NowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  shardmanager::cli::Terminal terminal = {
      .in = &std::cin,
      .out = &std::cout,
      .err = &std::cerr,
      .interactive = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0,
      .colour = isatty(STDOUT_FILENO) != 0 && ColoursWanted(),
      .now_ms = NowMs()};
  return shardmanager::cli::RunShardctl({argv + 1, argv + argc}, terminal);
}
