// The inputs that are kept for a fuzz target: corpus/<target>/*.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/golden/source_root.h"

namespace shardmanager::fuzz {

// By file name, and so in a defined order.
inline std::map<std::string, std::string> CorpusOf(const std::string& target) {
  std::map<std::string, std::string> inputs;
  const auto folder = SourceRoot() / "tests/fuzz/corpus" / target;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ostringstream bytes;
    bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
    inputs[file.path().filename()] = bytes.str();
  }
  return inputs;
}

}  // namespace shardmanager::fuzz
