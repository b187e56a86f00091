// The parameters of a request, checked: what is wrong is named, with what was found and what is
// allowed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace shardmanager::console {

class Parameters {
 public:
  // As it came, without "?".
  explicit Parameters(const std::string& query);

  // Each takes one parameter; missing: the default. The first error is kept.
  std::string Text(const std::string& name);
  std::string Required(const std::string& name);
  size_t Number(const std::string& name, size_t least, size_t most, size_t otherwise);
  // "" or one of them.
  std::string OneOf(const std::string& name, const std::vector<std::string>& allowed);

  // Call it when all are taken: INVALID_ARGUMENT if one is wrong, or was not taken.
  absl::Status Done() const;

 private:
  void Refuse(const std::string& name, const std::string& found, const std::string& allowed);

  std::map<std::string, std::string> given_;
  std::vector<std::string> known_;
  absl::Status status_;
};

}  // namespace shardmanager::console
