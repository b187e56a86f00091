// What the user sees: lines that stay, and below them a part that changes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace quickstart {

// On a terminal the live part is redrawn in place; elsewhere a plain line of it is
// printed every two seconds.
class Screen {
 public:
  Screen();
  ~Screen() { Clear(); }

  // A line that stays.
  void Say(const std::string& line);
  // Replaces the live part. `plain`: the same in one line, for non-terminals.
  void Show(const std::vector<std::string>& live, const std::string& plain);
  // The live part goes.
  void Clear();

 private:
  const bool terminal_;
  size_t drawn_ = 0;  // lines of the live part on the screen now
  std::chrono::steady_clock::time_point last_plain_{};
};

// "12,345"
std::string Thousands(size_t number);
// "[#####.....]", `width` marks wide.
std::string Bar(size_t done, size_t total, size_t width);

}  // namespace quickstart
