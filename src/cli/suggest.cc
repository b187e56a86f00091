#include "cli/suggest.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace shardmanager::cli {
namespace {

// Longer words are no typing errors of ours, and the distance is quadratic.
constexpr size_t kMostLetters = 64;

// keySpace, key-space and KEY_SPACE are all keyspace.
std::string Letters(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c != '-' && c != '_') letters += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return letters;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string Suggest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMostLetters) return "";
  const std::string letters = Letters(word);
  // A third of the letters wrong is still a typing error; more is another word.
  size_t best = letters.size() / 3 + 1;
  std::string suggestion;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(letters, Letters(candidate));
    if (distance >= best) continue;
    best = distance;
    suggestion = candidate;
  }
  return suggestion;
}

}  // namespace shardmanager::cli
