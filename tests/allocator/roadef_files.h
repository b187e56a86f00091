// The challenge's instances, where they are there.
#pragma once

#include <string>
#include <vector>

namespace shardmanager::roadef {

struct Published {
  const char* name;
  int64_t original;   // cost of the original assignment
  int64_t reference;  // the best that is known
};

// Set A.
const std::vector<Published>& Instances();

// Where the files are: SM_ROADEF_DIR, or ../shared/data/roadef beside the source tree.
// "": nowhere.
std::string Folder(const std::string& source_dir);

// "" if it cannot be read.
std::string ReadText(const std::string& path);

inline std::string ModelPath(const std::string& folder, const std::string& name) {
  return folder + "/model_" + name + ".txt";
}
inline std::string AssignmentPath(const std::string& folder, const std::string& name) {
  return folder + "/assignment_" + name + ".txt";
}

}  // namespace shardmanager::roadef
