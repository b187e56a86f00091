// What is wrong with a YAML text, and where. Internal to the YAML reader.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shardmanager::cli {

// A place in a text, from 1.
struct YamlPlace {
  int line = 1;
  int column = 1;
};

inline std::string PlaceText(const std::string& file, YamlPlace place) {
  return absl::StrCat(file, ":", place.line, ":", place.column);
}

class YamlProblems {
 public:
  static constexpr size_t kMost = 20;

  explicit YamlProblems(std::string file) : file_(std::move(file)) {}

  // A field's value is wrong; `path` is empty for the document itself.
  void AddField(YamlPlace place, const std::string& path, const std::string& found,
                const std::string& allowed) {
    Add(place,
        absl::StrCat(path, path.empty() ? "" : ": ", "found ", found, "; allowed: ", allowed));
  }
  void Add(YamlPlace place, const std::string& problem) {
    if (++count_ <= kMost) {
      absl::StrAppend(&lines_, count_ > 1 ? "\n" : "", PlaceText(file_, place), ": ", problem);
    }
  }

  bool empty() const { return count_ == 0; }
  absl::Status ToStatus() const {
    if (empty()) return absl::OkStatus();
    if (count_ <= kMost) return absl::InvalidArgumentError(lines_);
    return absl::InvalidArgumentError(
        absl::StrCat(lines_, "\n", file_, ": (and ", count_ - kMost, " more problems)"));
  }

 private:
  std::string file_;
  std::string lines_;
  size_t count_ = 0;
};

}  // namespace shardmanager::cli
