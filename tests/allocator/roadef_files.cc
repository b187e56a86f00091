#include "tests/allocator/roadef_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardmanager::roadef {

const std::vector<Published>& Instances() {
  static const std::vector<Published> instances = {
      {"a1_1", 49528750, 44306501},     {"a1_2", 1061649570, 777532896},
      {"a1_3", 583662270, 583005717},   {"a1_4", 632499600, 252728589},
      {"a1_5", 782189690, 727578309},   {"a2_1", 391189190, 196},
      {"a2_2", 1876768120, 746097632},  {"a2_3", 2272487840, 1219337750},
      {"a2_4", 3223516130, 1681353943}, {"a2_5", 787355300, 336158091},
  };
  return instances;
}

std::string Folder(const std::string& source_dir) {
  const char* given = std::getenv("SM_ROADEF_DIR");
  const std::filesystem::path folder =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(source_dir) / ".." / "shared" / "data" / "roadef";
  std::error_code error;
  if (!std::filesystem::exists(folder / "model_a1_1.txt", error)) return "";
  return folder.string();
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace shardmanager::roadef
