#include "tests/allocator/roadef_files.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardmanager::roadef {

namespace {

// Those of set B are below a folder of their own.
std::string PathOf(const std::string& folder, const char* what, const std::string& name) {
  const std::string below = name.starts_with("b_") ? "/b" : "";
  return folder + below + "/" + what + "_" + name + ".txt";
}

std::string Unpacked(const std::string& path) {
  const std::string command = "xz -dc '" + path + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char block[1 << 16];
  for (size_t got; pipe != nullptr && (got = fread(block, 1, sizeof block, pipe)) > 0;) {
    text.append(block, got);
  }
  return pipe != nullptr && pclose(pipe) == 0 ? text : "";
}

}  // namespace

const std::vector<Published>& Instances(std::string_view set) {
  static const std::vector<Published> none;
  static const std::vector<Published> b = {
      {"b_1", 7644173180, 3339186879},  {"b_2", 5181493830, 1015553800},
      {"b_3", 6336834660, 156835787},   {"b_4", 9209576380, 4677823040},
      {"b_5", 12426813010, 923092380},  {"b_6", 12749861240, 9525857752},
      {"b_8", 14068207250, 1214458817}, {"b_9", 23234641520, 15885486698},
  };
  static const std::vector<Published> instances = {
      {"a1_1", 49528750, 44306501},     {"a1_2", 1061649570, 777532896},
      {"a1_3", 583662270, 583005717},   {"a1_4", 632499600, 252728589},
      {"a1_5", 782189690, 727578309},   {"a2_1", 391189190, 196},
      {"a2_2", 1876768120, 746097632},  {"a2_3", 2272487840, 1219337750},
      {"a2_4", 3223516130, 1681353943}, {"a2_5", 787355300, 336158091},
  };
  return set == "a" ? instances : set == "b" ? b : none;
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

std::string ModelPath(const std::string& folder, const std::string& name) {
  return PathOf(folder, "model", name);
}
std::string AssignmentPath(const std::string& folder, const std::string& name) {
  return PathOf(folder, "assignment", name);
}

std::string ReadText(const std::string& path) {
  std::error_code error;
  const bool is_packed =
      !std::filesystem::exists(path, error) && std::filesystem::exists(path + ".xz", error);
  if (is_packed) return Unpacked(path + ".xz");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace shardmanager::roadef
