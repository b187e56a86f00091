#include "runtime/json_lines.h"

#include <spdlog/details/os.h>
#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace shardmanager {
namespace {

// The bytes of the UTF-8 sequence that begins there; 0: none does.
size_t SequenceAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size()) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_great = first == 0xf4 && second >= 0x90;
  return too_long || surrogate || too_great ? 0 : bytes;
}

}  // namespace

std::string JsonQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = SequenceAt(text, at);
    const char c = text[at];
    if (bytes == 0) {
      quoted += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += text.substr(at, bytes);
    }
    at += bytes == 0 ? 1 : bytes;
  }
  quoted += '"';
  return quoted;
}

void JsonLines::format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) {
  const auto view = [](spdlog::string_view_t text) {
    return std::string_view(text.data(), text.size());
  };
  const auto since_1970 = message.time.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
  const std::tm utc = spdlog::details::os::gmtime(spdlog::log_clock::to_time_t(message.time));
  fmt::format_to(
      std::back_inserter(line),
      R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:03}Z","level":"{}","program":{},"pid":{},"message":{}}})"
      "\n",
      utc, ms % 1'000, view(spdlog::level::to_string_view(message.level)),
      JsonQuoted(view(message.logger_name)), spdlog::details::os::pid(),
      JsonQuoted(view(message.payload)));
}

std::unique_ptr<spdlog::formatter> JsonLines::clone() const {
  return std::make_unique<JsonLines>();
}

}  // namespace shardmanager
