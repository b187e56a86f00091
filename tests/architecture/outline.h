// The classes and functions that a C++ file declares, with their sizes. Found in the text as
// clang-format lays it out: a real parser of C++ would take minutes for the whole tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardmanager::architecture {

struct Class {
  std::string name;  // "Outer::Inner" of a nested one
  int line = 0;      // 1-based, of its opening brace
  // Without constructors, the destructor and operators. Each overload counts.
  int methods = 0;
  int fields = 0;  // not static
};

struct Function {
  std::string name;  // as it is written before the "(": "Fleet::AdoptLife", "TEST"
  int line = 0;      // 1-based, of its first line
  int lines = 0;     // from there to its closing brace
};

struct Outline {
  std::vector<Class> classes;
  std::vector<Function> functions;  // also those that are defined inside a class
};

Outline OutlineOf(std::string_view text);

}  // namespace shardmanager::architecture
