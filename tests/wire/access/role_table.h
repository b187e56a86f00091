// The table of docs/security-roles.md.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/golden/source_root.h"

namespace shardmanager::wire {

// The table as people read it: by call and role.
inline std::map<std::string, std::map<std::string, std::string>> TableOfTheDocument() {
  std::map<std::string, std::map<std::string, std::string>> table;
  std::vector<std::string> roles;
  std::ifstream in(SourceRoot() / "docs/security-roles.md");
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (cells.front() == "| call") {
      roles = cells;
      roles.back() = std::string(absl::StripSuffix(roles.back(), " |"));
    } else if (line.rfind("| `", 0) == 0 && cells.size() == roles.size()) {
      const std::string call = cells.front().substr(3, cells.front().size() - 4);
      for (size_t i = 1; i < cells.size(); ++i) {
        table[call][roles[i]] = std::string(absl::StripSuffix(cells[i], " |"));
      }
    }
  }
  return table;
}

}  // namespace shardmanager::wire
