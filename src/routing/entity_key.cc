#include "absl/strings/str_format.h"
#include "shardmanager/routing.h"

namespace shardmanager {
namespace {

constexpr char kZero = '\0';     // begins both of these
constexpr char kEnd = '\1';      // ends the entity
constexpr char kEscaped = '\2';  // stands for a zero in it; above kEnd, so that order is kept
constexpr size_t kBucketDigits = 16;

std::string Escaped(std::string_view entity, char end) {
  std::string out;
  out.reserve(entity.size() + 2 + kBucketDigits);
  for (const char c : entity) {
    out.push_back(c);
    if (c == kZero) out.push_back(kEscaped);
  }
  out.push_back(kZero);
  out.push_back(end);
  return out;
}

std::optional<uint64_t> ParseBucket(std::string_view digits) {
  if (digits.size() != kBucketDigits) return std::nullopt;
  uint64_t bucket = 0;
  for (const char c : digits) {
    const bool decimal = c >= '0' && c <= '9';
    if (!decimal && (c < 'a' || c > 'f')) return std::nullopt;
    bucket = bucket << 4 | static_cast<uint64_t>(decimal ? c - '0' : c - 'a' + 10);
  }
  return bucket;
}

}  // namespace

std::string EntityPrefix(std::string_view entity) { return Escaped(entity, kEnd); }

std::string EntityEnd(std::string_view entity) { return Escaped(entity, kEscaped); }

std::string EntityKey(std::string_view entity, uint64_t bucket) {
  return EntityPrefix(entity) + absl::StrFormat("%016x", bucket);
}

std::optional<EntityBucket> ParseEntityKey(std::string_view key) {
  EntityBucket parsed;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] != kZero) {
      parsed.entity.push_back(key[i]);
      continue;
    }
    if (++i == key.size()) return std::nullopt;
    if (key[i] == kEscaped) {
      parsed.entity.push_back(kZero);
      continue;
    }
    if (key[i] != kEnd) return std::nullopt;
    const auto bucket = ParseBucket(key.substr(i + 1));
    if (!bucket) return std::nullopt;
    parsed.bucket = *bucket;
    return parsed;
  }
  return std::nullopt;
}

}  // namespace shardmanager
