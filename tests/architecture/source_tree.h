// The repository's text, as the rules see it. Tests make small trees by hand.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace shardmanager::architecture {

struct File {
  std::string path;  // from the repository's root, with '/'
  std::string text;
};

using Tree = std::vector<File>;

// Sources, protos and CMake files below these folders of `root`, ascending by path.
Tree LoadTree(const std::filesystem::path& root, const std::vector<std::string>& folders);

// The text with comments and the insides of string and character literals blanked;
// every line keeps its number.
std::string CodeOnly(std::string_view text);

std::vector<std::string_view> Lines(std::string_view text);

// "src/base/time.h:12"
std::string LineOf(const File& file, int line);

struct Include {
  int line;
  std::string header;  // as written between the quotes or angle brackets
};
std::vector<Include> Includes(const File& file);

bool IsHeader(std::string_view path);
bool IsCpp(std::string_view path);  // .h or .cc
std::string_view FolderOf(std::string_view path);
std::string_view WithoutExtension(std::string_view path);

// One sm_library(), sm_binary() or sm_bench() of a CMakeLists.txt.
struct Target {
  std::string name;
  std::string folder;                // of its CMakeLists.txt
  std::vector<std::string> sources;  // from the repository's root
  std::vector<std::string> deps;
};
std::vector<Target> Targets(const Tree& tree);

}  // namespace shardmanager::architecture
