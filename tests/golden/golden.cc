#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/golden/source_root.h"

namespace shardmanager {
namespace {

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

std::string LineOr(const std::vector<std::string>& lines, size_t i) {
  return i < lines.size() ? lines[i] : "(end of the text)";
}

}  // namespace

void ExpectGolden(const std::string& path, const std::string& text) {
  const auto file = SourceRoot() / path;
  if (std::getenv("SM_RECORD") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return;
  }
  std::ostringstream kept;
  kept << std::ifstream(file, std::ios::binary).rdbuf();
  if (kept.str() == text) return;
  const std::vector<std::string> want = Lines(kept.str());
  const std::vector<std::string> have = Lines(text);
  size_t i = 0;
  while (i < want.size() && i < have.size() && want[i] == have[i]) ++i;
  ADD_FAILURE()
      << path << ", line " << i + 1 << ":\n  kept: " << LineOr(want, i)
      << "\n  now:  " << LineOr(have, i)
      << "\nIf the change is meant: scripts/record, look at the difference, and say in the "
         "commit why.";
}

}  // namespace shardmanager
