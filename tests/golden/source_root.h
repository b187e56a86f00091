// Where the sources are, for tests that read files beside them.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace shardmanager {

// As ctest says; else the working directory.
inline std::filesystem::path SourceRoot() {
  const char* root = std::getenv("SM_SOURCE_DIR");
  return root != nullptr ? root : ".";
}

}  // namespace shardmanager
