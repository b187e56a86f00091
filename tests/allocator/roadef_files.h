// The challenge's instances, where they are there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardmanager::roadef {

struct Published {
  const char* name;
  int64_t original;   // cost of the original assignment
  int64_t reference;  // the best that is known; of set B, of the challenge's final
};

// `set`: "a", or "b", whose instances are larger and lie in a folder of that name. Empty: there is
// no such set.
const std::vector<Published>& Instances(std::string_view set = "a");

// Where the files are: SM_ROADEF_DIR, or ../shared/data/roadef beside the source tree.
// "": nowhere.
std::string Folder(const std::string& source_dir);

// "" if it cannot be read. Where there is only PATH.xz, `xz` unpacks it.
std::string ReadText(const std::string& path);

std::string ModelPath(const std::string& folder, const std::string& name);
std::string AssignmentPath(const std::string& folder, const std::string& name);

}  // namespace shardmanager::roadef
