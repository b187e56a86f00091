#include "screen.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace quickstart {
namespace {

constexpr std::chrono::seconds kPlainEvery{2};

}  // namespace

Screen::Screen() : terminal_(isatty(STDOUT_FILENO) == 1) {}

void Screen::Say(const std::string& line) {
  Clear();
  std::cout << line << std::endl;
}

void Screen::Show(const std::vector<std::string>& live, const std::string& plain) {
  if (!terminal_) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_plain_ < kPlainEvery) return;
    last_plain_ = now;
    std::cout << plain << std::endl;
    return;
  }
  Clear();
  for (const std::string& line : live) std::cout << line << "\n";
  std::cout << std::flush;
  drawn_ = live.size();
}

void Screen::Clear() {
  // Cursor up over what was drawn, then erase from there to the end.
  if (drawn_ > 0) std::cout << "\x1b[" << drawn_ << "A\x1b[J" << std::flush;
  drawn_ = 0;
}

std::string Thousands(size_t number) {
  std::string text = std::to_string(number);
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3) text.insert(i, 1, ',');
  return text;
}

std::string Bar(size_t done, size_t total, size_t width) {
  const size_t marks = total == 0 ? 0 : std::min(width, width * done / total);
  return absl::StrCat("[", std::string(marks, '#'), std::string(width - marks, '.'), "]");
}

}  // namespace quickstart
