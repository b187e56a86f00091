#include "coordination/paths.h"

#include <xxhash.h>

#include <charconv>

#include "absl/strings/str_cat.h"
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

std::string Paths::live(const AppName& a, const LiveName& name, uint32_t buckets) const {
  std::string path = live(a, name.server, name.incarnation, buckets);
  if (!name.proof.empty()) absl::StrAppend(&path, ".", name.proof);
  return path;
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
  if (parsed.ec != std::errc()) return std::nullopt;
  const std::string_view rest(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  if (!rest.empty() && (rest.front() != '.' || rest.size() == 1)) return std::nullopt;
  return LiveName{ServerName(node.substr(0, at)), Incarnation(incarnation),
                  std::string(rest.empty() ? rest : rest.substr(1))};
}

}  // namespace shardmanager
