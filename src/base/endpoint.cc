#include "base/endpoint.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace shardmanager {

std::string WhatIsWrongWithEndpoint(const std::string& text, bool to_listen) {
  constexpr int kMostPort = 65'535;
  const std::string port = SplitEndpoint(text).port;
  const bool digits =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int number = digits ? std::atoi(port.c_str()) : -1;
  const bool has_host = to_listen || !text.starts_with(':');
  if (has_host && number >= (to_listen ? 0 : 1) && number <= kMostPort) return "";
  return absl::StrCat("found \"", absl::CHexEscape(text),
                      "\"; allowed: HOST:PORT, with a port from ",
                      to_listen ? "0 (any that is free)" : "1", " to ", kMostPort);
}

HostAndPort SplitEndpoint(const std::string& text) {
  const size_t colon = std::min(text.rfind(':'), text.size());
  HostAndPort parts{.host = text.substr(0, colon),
                    .port = text.substr(std::min(colon + 1, text.size()))};
  if (parts.host.size() > 1 && parts.host.front() == '[' && parts.host.back() == ']') {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  }
  return parts;
}

std::vector<std::string> EndpointList(const std::string& text) {
  std::vector<std::string> all;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view bare = absl::StripAsciiWhitespace(part);
    if (!bare.empty()) all.emplace_back(bare);
  }
  return all;
}

}  // namespace shardmanager
