// Whole numbers from a text, each checked against its bounds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace shardmanager::roadef {

// After the first error it returns 0 or the lower bound, so that the caller may look at
// status() when it is convenient.
class NumberReader {
 public:
  // `file`: its name in errors.
  NumberReader(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  // The next number. `field` names it in errors; `index`, if not negative, is appended.
  int64_t Next(const char* field, int64_t index, int64_t least, int64_t most);
  int64_t Next(const char* field, int64_t least, int64_t most) {
    return Next(field, -1, least, most);
  }
  // An error unless nothing but white space is left.
  void ExpectEnd();

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  void SkipSpace();
  std::string_view Word();
  void Fail(const char* field, int64_t index, const std::string& found, const std::string& allowed);

  const std::string file_;
  const std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
  absl::Status status_;
};

}  // namespace shardmanager::roadef
