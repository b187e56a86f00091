// Lookups by key, against the standard library's binary search. Built from whatever the
// bytes of a map's ranges are.
#include "router/key_table.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::router {
namespace {

// Strings that share much: the table's ties and nested tables are where the risk is.
std::string NextString(fuzz::FuzzInput& input, const std::vector<std::string>& before) {
  std::string text;
  if (!before.empty() && input.Flag()) {
    const std::string& other = before[input.Below(256) % before.size()];
    text = other.substr(0, input.Byte());
  }
  return text + input.Text(20);
}

}  // namespace

SM_FUZZ_TARGET(key_table) {
  std::vector<std::string> strings;
  const size_t count = input.Byte();
  for (size_t i = 0; i < count && !input.empty(); ++i) {
    strings.push_back(NextString(input, strings));
  }
  std::vector<std::string_view> sorted(strings.begin(), strings.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const KeyTable table{sorted};
  SM_CHECK(table.size() == sorted.size(), "every string is there");
  const auto check = [&](std::string_view key) {
    const auto end = std::upper_bound(sorted.begin(), sorted.end(), key);
    SM_CHECK(table.CountUpTo(key) == static_cast<size_t>(end - sorted.begin()), "as by search");
  };
  for (const std::string& key : strings) {
    check(key);
    check(key.substr(0, key.size() / 2));
    check(key + '\0');
    check(key + '\xff');
  }
  while (!input.empty()) check(NextString(input, strings));
}

}  // namespace shardmanager::router
