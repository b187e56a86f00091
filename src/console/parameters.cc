#include "console/parameters.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/http_server.h"

namespace shardmanager::console {

Parameters::Parameters(const std::string& query) : given_(QueryParameters(query)) {}

std::string Parameters::Text(const std::string& name) {
  known_.push_back(name);
  const auto found = given_.extract(name);
  return found.empty() ? "" : found.mapped();
}

std::string Parameters::Required(const std::string& name) {
  std::string value = Text(name);
  if (value.empty()) Refuse(name, "", "a name");
  return value;
}

size_t Parameters::Number(const std::string& name, size_t least, size_t most, size_t otherwise) {
  const std::string text = Text(name);
  if (text.empty()) return otherwise;
  uint64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) return value;
  Refuse(name, text, absl::StrCat(least, " to ", most));
  return otherwise;
}

std::string Parameters::OneOf(const std::string& name, const std::vector<std::string>& allowed) {
  std::string value = Text(name);
  for (const std::string& one : allowed) {
    if (value == one) return value;
  }
  if (!value.empty()) Refuse(name, value, absl::StrJoin(allowed, ", "));
  return "";
}

absl::Status Parameters::Done() const {
  if (!status_.ok() || given_.empty()) return status_;
  return absl::InvalidArgumentError(absl::StrCat("parameter: found \"", given_.begin()->first,
                                                 "\"; allowed: ", absl::StrJoin(known_, ", ")));
}

void Parameters::Refuse(const std::string& name, const std::string& found,
                        const std::string& allowed) {
  if (!status_.ok()) return;
  status_ =
      absl::InvalidArgumentError(absl::StrCat(name, ": found \"", found, "\"; allowed: ", allowed));
}

}  // namespace shardmanager::console
