// Many strings side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/pages.h"

namespace shardmanager::router {

// A string costs 4 bytes besides its own. Views of strings are good until the next one is added.
class PackedStrings {
 public:
  void Reserve(size_t strings) { ends_.reserve(strings); }
  // False: all of them would have more than 4 GB.
  bool Add(std::string_view string) {
    if (string.size() > std::numeric_limits<uint32_t>::max() - bytes_.size()) return false;
    bytes_.append(string);
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    return true;
  }

  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t at) const {
    const size_t begin = at == 0 ? 0 : ends_[at - 1];
    return {bytes_.data() + begin, ends_[at] - begin};
  }

 private:
  PageString bytes_;
  PageVector<uint32_t> ends_;
};

}  // namespace shardmanager::router
