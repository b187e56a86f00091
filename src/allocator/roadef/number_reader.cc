#include "allocator/roadef/number_reader.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace shardmanager::roadef {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// What a file of another kind holds may be long, or unfit for a terminal.
std::string Shown(std::string_view word) {
  std::string shown = "\"";
  for (char c : word.substr(0, 20)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (word.size() > 20 ? "...\"" : "\"");
}

}  // namespace

void NumberReader::SkipSpace() {
  for (; at_ < text_.size() && IsSpace(text_[at_]); ++at_) line_ += text_[at_] == '\n';
}

std::string_view NumberReader::Word() {
  SkipSpace();
  const size_t begin = at_;
  while (at_ < text_.size() && !IsSpace(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

int64_t NumberReader::Next(const char* field, int64_t index, int64_t least, int64_t most) {
  if (!ok()) return least;
  const std::string_view word = Word();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (!word.empty() && error == std::errc() && end == word.data() + word.size() &&
      number >= least && number <= most) {
    return number;
  }
  Fail(field, index, word.empty() ? "the end of the file" : Shown(word),
       absl::StrCat("a whole number from ", least, " to ", most));
  return least;
}

void NumberReader::ExpectEnd() {
  if (!ok()) return;
  const std::string_view word = Word();
  if (!word.empty()) Fail("after the last number", -1, Shown(word), "the end of the file");
}

void NumberReader::Fail(const char* field, int64_t index, const std::string& found,
                        const std::string& allowed) {
  status_ = absl::InvalidArgumentError(
      absl::StrCat(file_, ": line ", line_, ": ", field,
                   index < 0 ? std::string() : absl::StrCat("[", index, "]"), ": found ", found,
                   "; allowed: ", allowed));
}

}  // namespace shardmanager::roadef
