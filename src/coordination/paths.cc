#include "coordination/paths.h"

#include <xxhash.h>

#include <charconv>

#include "absl/strings/str_format.h"

namespace shardmanager {

uint32_t BucketOf(std::string_view server, uint32_t buckets) {
  return static_cast<uint32_t>(XXH64(server.data(), server.size(), 0) % buckets);
}

std::string Paths::bucket(const std::string& folder, uint32_t bucket) {
  return absl::StrFormat("%s/%03d", folder, bucket);
}

std::string Paths::server(const AppName& a, const ServerName& s, uint32_t buckets) const {
  return bucket(servers(a), BucketOf(s.value(), buckets)) + "/" + s.value();
}

std::string Paths::live(const AppName& a, const ServerName& s, Incarnation i,
                        uint32_t buckets) const {
  return absl::StrFormat("%s/%s@%d", bucket(live(a), BucketOf(s.value(), buckets)), s.value(),
                         i.value());
}

std::string Paths::assignment(const AppName& a, const ServerName& s, uint32_t buckets) const {
  return bucket(assignments(a), BucketOf(s.value(), buckets)) + "/" + s.value();
}

std::optional<LiveName> ParseLiveName(std::string_view node) {
  const size_t at = node.rfind('@');
  uint64_t incarnation = 0;
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const char* end = node.data() + node.size();
  const auto parsed = std::from_chars(node.data() + at + 1, end, incarnation);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return LiveName{ServerName(node.substr(0, at)), Incarnation(incarnation)};
}

}  // namespace shardmanager
