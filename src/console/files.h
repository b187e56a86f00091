// The console's pages, compiled in: src/console/web. The .cc is made by files.cmake.
#pragma once

#include <string_view>
#include <vector>

namespace shardmanager::console {

struct File {
  std::string_view path;  // "/app.js"
  std::string_view type;  // as in Content-Type
  std::string_view hash;  // of the content
  std::string_view content;
};

const std::vector<File>& Files();

}  // namespace shardmanager::console
