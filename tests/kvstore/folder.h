// A folder for one test of kvstore.
#pragma once

#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace kvstore {

// Goes with everything in it.
struct Folder {
  Folder() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path = ::testing::TempDir() + "kvstore_XXXXXX";
};

}  // namespace kvstore
